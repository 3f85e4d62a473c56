"""What the settings of a recipe are called on the page, and what they do."""

from __future__ import annotations

from trnn_core.cells.kinds import CELLS
from trnn_core.data import designs

# What a setting is called on the page, where its own name would not do.
LABELS = {
    "cell": "Cell",
    "hidden_shape": "Hidden shape",
    "window": "Periods per window (T)",
    "design": "Prediction",
    "regularisation": "Penalty on weights (λ)",
    "learning_rate": "Learning rate",
    "epochs": "Epochs",
    "validation": "Validation share",
    "test": "Test share",
    "diagonal": "Acts towards oneself",
    "init": "Start of the weights (W, U)",
    "batch_size": "Windows per step",
    "schedule": "Course of the learning rate",
    "schedule_step": "Epochs between drops",
    "schedule_factor": "Left after a drop",
    "warmup": "Epochs of warming up",
    "regularisation_per": "Penalty beside the loss of a",
    "patience": "Patience, in epochs",
    "min_delta": "Smallest improvement",
    "threads": "Processor threads",
    "checkpoint_every": "Epochs between checkpoints",
    "slices": "Inputs",
    "likelihood": "Loss (l)",
    "clip_norm": "Longest gradient",
    "device": "Computed on",
    "precision": "Number format",
    "optimiser": "Optimiser",
    "num_layers": "Layers",
    "channels": "Hidden channels per dyad",
    "members": "Networks averaged",
    "epoch_share": "Share of the windows per epoch",
    "weight_decay": "Pull of weights to zero",
    "gate_activation": "Gate activation (σ_g)",
    "candidate_activation": "Candidate activation (σ_c, σ_h)",
    "hidden_activation": "Hidden activation (σ_h)",
}
WORDS = {
    **{name: kind.label for name, kind in CELLS.items()},
    "many-to-one": "one, at the end",
    "many-to-many": "at every step",
    "single-series": "one long series",
    "auto": "automatic",
    "cpu": "processor",
    "cuda": "graphics card",
}
# What a setting does, in plain words and with the paper's symbol, where the core's one line is for those who know it.
HELP = {
    "cell": (
        "How the network remembers. tLSTM (eq. 3-8) keeps a memory C_t beside what it says, tGRU (eq. 9-13) is smaller"
        " and learns faster, tRNN (eq. 1-2) has no gates and forgets soonest"
    ),
    "design": (
        "When the network has to predict while it learns: once, after the last period of a window (the paper's Case I),"
        " or after every one (Case II, more to learn from); or along the whole series at once (eq. 14)"
    ),
    "window": (
        "T: how many periods the network looks back before it predicts. More can find slower rhythms and take longer"
    ),
    "slices": (
        "What the network may look at, besides the acts themselves (direct): "
        + "; ".join(f"*{name}*: {words}" for name, words in designs.BASES.items() if name != "direct")
    ),
    "regularisation": (
        "λ: holds the weights W and U small, so that the network does not learn its past by heart. More is more"
        " cautious; 0 is no penalty"
    ),
    "learning_rate": (
        "How large a step each correction is. Too large and the loss jumps about or grows; too small and it hardly"
        " falls"
    ),
    "epochs": (
        "How often the network goes through all training periods. The epoch with the best validation loss is kept"
    ),
    "weight_decay": "Draws all weights a little towards zero at every step, against learning the past by heart",
    "channels": (
        "How many figures the network remembers for each pair and action (its hidden state H_t). More can remember"
        " more, and learns slower"
    ),
    "members": (
        "So many networks are trained from different random starts and their forecasts averaged: steadier, and as many"
        " times slower"
    ),
    "transform": (
        "How counts are rescaled before the network reads them; forecasts are turned back into events. The Data page"
        " shows what each does"
    ),
    "validation": (
        "The share of periods, just before the test ones, by which the best epoch is chosen; the network does not learn"
        " from them"
    ),
    "test": (
        "The share of the last periods that is kept aside to see how good the forecasts are; never used in training"
    ),
    "diagonal": "Whether what a country does to itself is learnt and scored, where the data hold it",
    "num_layers": (
        "Cells on top of each other, each reading the hidden tensor H_t of the one below. One is usually enough"
    ),
    "gate_activation": "σ_g: the curve that turns a gate (f, i, o or r, z) into a share from 0, shut, to 1, open",
    "candidate_activation": (
        "σ_c of the tLSTM, σ_h of the tGRU and tRNN: the curve through which new content enters the memory"
    ),
    "hidden_activation": "σ_h of eq. 8: the curve through which the memory C_t is read out (tLSTM only)",
    "init": (
        "What the weights W and U are before training. Identity begins with every country as it is, and shows influence"
        " most clearly; the others begin at random"
    ),
    "likelihood": (
        "l (eq. 14-18): what counts as a small error. Squared error for an expected figure; a distribution of counts"
        " where the chance of each count is wanted too"
    ),
    "dropout": (
        "The share of hidden figures left out at random while learning, so that the network does not lean on single"
        " ones"
    ),
    "batch_size": (
        "How many windows are learnt from before each correction of the weights. They share work, so more is quicker up"
        " to a point"
    ),
    "optimiser": "The rule by which an error becomes a correction of the weights. Adam needs the least care",
    "momentum": "The share of the last correction that is kept in the next one (SGD and RMSprop only)",
    "schedule": "How the learning rate changes from the first epoch to the last",
    "regularisation_per": (
        "Whether λ stands beside the error of a whole window, as in eq. 15-16, or beside that of a single cell"
    ),
    "clip_norm": (
        "A correction longer than this is shortened to it, so that one odd window cannot throw the network off. Empty"
        " shortens nothing"
    ),
    "patience": "Training ends by itself after so many epochs without a better validation loss. Empty never ends early",
    "min_delta": "How much lower the validation loss must be to count as better",
    "seed": "Where the random numbers begin: the same seed and settings give the same network, to the last digit",
    "threads": "How many processor cores one training may use. More is not always faster",
}
