"""A recipe small enough to train in a second, with everything on that a resume could get wrong. No torch here."""

from trnn_core.training.config import Recipe

SMALL = Recipe(
    data={"design": "many-to-many", "window": 4},
    model={"cell": "gru", "hidden_shape": (3, 3, 2), "dropout": 0.2},
    train={"epochs": 15, "batch_size": 16, "learning_rate": 0.02, "schedule": "plateau", "schedule_step": 3, "seed": 5},
)
TINY = SMALL.changed(**{"train.epochs": 2})
