"""Bad input to a cell: one sentence with the mode, both sizes and the cure, and never a bare torch error."""

from __future__ import annotations

import pytest
import torch

from tests.cells.reference import CELLS, make_input, make_layer, make_state, parts_of
from trnn_core.cells.gru import TensorGRU
from trnn_core.cells.lstm import TensorLSTM
from trnn_core.cells.rnn import TensorRNN
from trnn_core.errors import TRNNError

every_cell = pytest.mark.parametrize("cell", CELLS)


def test_shapes_of_a_cell() -> None:
    with pytest.raises(TRNNError, match=r"as many modes as the input.*\(2, 2\) \(2 modes\) .*\(3, 3, 4\) \(3 modes\)"):
        TensorLSTM((3, 3, 4), (2, 2))
    with pytest.raises(TRNNError, match=r"at least one"):
        TensorGRU((), ())
    with pytest.raises(TRNNError, match=r"Mode 2 of the hidden shape must be a whole number of at least 1\. Got 0"):
        TensorGRU((3, 3), (2, 0))
    with pytest.raises(TRNNError, match=r"Mode 1 of the input shape .*Got 2\.5"):
        TensorRNN((2.5,), (2,))
    with pytest.raises(TRNNError, match=r"Mode 1 of the input shape .*Got '3'"):
        TensorRNN(("3",), (2,))
    with pytest.raises(TRNNError, match=r"must be a sequence of mode sizes, such as \(25, 25, 4\)\. Got 25"):
        TensorLSTM(25, (2,))
    with pytest.raises(TRNNError, match=r"num_layers=0"):
        TensorLSTM((2,), (2,), num_layers=0)
    with pytest.raises(TRNNError, match=r"num_layers=1\.5"):
        TensorLSTM((2,), (2,), num_layers=1.5)
    with pytest.raises(TRNNError, match=r"Jordan's output must have as many modes as the hidden shape \(2, 2\)"):
        TensorRNN((3, 3), (2, 2), output_shape=(3,))
    with pytest.raises(TRNNError, match=r"Mode 2 of the output shape .*Got 0"):
        TensorRNN((3, 3), (2, 2), output_shape=(3, 0))


@every_cell
def test_wrong_order_tells_what_to_do(cell: str) -> None:
    layer = make_layer(cell, 3)
    x = make_input(layer)
    with pytest.raises(TRNNError, match=r"must have 5 axes, \(batch, time, 3, 2, 4\)\. Got 4 axes.*add the batch and"):
        layer(x[0])
    with pytest.raises(TRNNError, match=r"Got 6 axes.*drop or merge the extra axes"):
        layer(x[None])


@every_cell
@pytest.mark.parametrize("mode", [1, 2, 3])
def test_wrong_mode_size_names_mode_and_both_sizes(cell: str, mode: int) -> None:
    layer = make_layer(cell, 3)
    wide = make_input(layer).repeat_interleave(2, dim=mode + 1)
    size = layer.input_shape[mode - 1]
    with pytest.raises(
        TRNNError, match=rf"Mode {mode} of the input must have size {size}.*Got {2 * size} instead; reorder"
    ):
        layer(wide)


@every_cell
def test_empty_batches_and_sequences(cell: str) -> None:
    layer = make_layer(cell, 3)
    x = make_input(layer)
    with pytest.raises(TRNNError, match=r"Got 0 sequences of 4 steps"):
        layer(x[:0])
    with pytest.raises(TRNNError, match=r"Got 3 sequences of 0 steps; leave empty batches out"):
        layer(x[:, :0])


@every_cell
@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_not_a_number_is_named_with_its_place(cell: str, value: str) -> None:
    layer = make_layer(cell, 3)
    x = make_input(layer)
    x[1, 2, 0, 1, 3] = float(value)
    place = "sequence 1, step 2, mode 1 index 0, mode 2 index 1, mode 3 index 3"
    with pytest.raises(TRNNError, match=rf"input must be finite\. Got {value} at {place} .*fill missing cells"):
        layer(x)
    with pytest.raises(TRNNError, match=place):
        layer(x, lengths=torch.tensor([4, 3, 4]))
    assert layer(x, lengths=torch.tensor([4, 2, 4]))[0].isfinite().all()  # it stands behind the end


def test_large_finite_input_is_not_mistaken() -> None:
    """The sum overflows; every entry is finite."""
    layer = TensorLSTM((2,), (2,))
    assert layer(torch.full((1, 4, 2), 3e38))[0].isfinite().all()


@every_cell
def test_mixed_dtype_and_device(cell: str) -> None:
    layer = make_layer(cell, 3)
    x, state = make_input(layer), make_state(layer)
    with pytest.raises(TRNNError, match=r"dtype torch\.float64\. Got torch\.float32; use \.to\(torch\.float64\)"):
        layer(x.float())
    with pytest.raises(TRNNError, match=r"Got torch\.int64"):
        layer(x.long())
    with pytest.raises(TRNNError, match=r"on the cell's device cpu\. Got meta; use \.to\('cpu'\)"):
        layer(x.to("meta"))
    single = tuple(s.float() for s in parts_of(state))
    with pytest.raises(TRNNError, match=r"state (H|Y) must have the cell's dtype"):
        layer(x, single if layer.n_states > 1 else single[0])
    with pytest.raises(TRNNError, match=r"must be a torch tensor .*Got list; use torch.as_tensor"):
        layer(x.tolist())


@every_cell
def test_wrong_state(cell: str) -> None:
    layer = make_layer(cell, 3)
    x, state = make_input(layer), make_state(layer)
    name = "Y" if cell == "jordan" else "H"
    short = tuple(s[:, :2] for s in parts_of(state))
    with pytest.raises(TRNNError, match=rf"State {name} must have shape \(1, 3, .*Got \(1, 2, .*same batch"):
        layer(x, short if layer.n_states > 1 else short[0])
    wrong = state[0] if layer.n_states > 1 else (state, state)
    expected = "the tensors \\(H, C\\)" if layer.n_states > 1 else f"one tensor {name}"
    with pytest.raises(TRNNError, match=f"The state must be {expected}"):
        layer(x, wrong)
    for part in parts_of(state)[-1:]:
        part[0, 2, 1, 1, 0] = float("nan")
    with pytest.raises(TRNNError, match=r"state [HCY] must be finite\. Got nan at layer 0, sequence 2, mode 1 index 1"):
        layer(x, state)


@every_cell
def test_wrong_lengths(cell: str) -> None:
    layer = make_layer(cell, 2)
    x = make_input(layer)
    with pytest.raises(TRNNError, match=r"between 1 and the 4 steps .*Got 0 for sequence 1; leave out empty"):
        layer(x, lengths=torch.tensor([4, 0, 2]))
    with pytest.raises(TRNNError, match=r"Got 5 for sequence 0"):
        layer(x, lengths=[5, 1, 2])
    with pytest.raises(TRNNError, match=r"must be 3 whole numbers.*Got shape \(2,\)"):
        layer(x, lengths=torch.tensor([4, 1]))
    with pytest.raises(TRNNError, match=r"whole numbers.*torch\.float32"):
        layer(x, lengths=torch.tensor([4.0, 1.0, 2.0]))


@every_cell
def test_shapes_can_be_planned_on_the_meta_device(cell: str) -> None:
    """No memory, no numbers: the layer tells the shapes that a machine with more memory would see."""
    layer = make_layer(cell, 3, num_layers=2).to("meta")
    outputs, end = layer(torch.empty(5, 4, *layer.input_shape, dtype=torch.float64, device="meta"))
    assert outputs.shape == (5, 4, *layer.state_shape)
    assert parts_of(end)[0].shape == (2, 5, *layer.state_shape)
