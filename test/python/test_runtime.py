"""The runtime half of the module, on an artifact that needs no compiler."""

import threading

import mopt
import numpy as np
import pytest

SCALE = np.float32([1, 2, 3, 4])


def expected(x):
    return np.maximum(x * SCALE + 1, 0)


def test_describes_inputs_and_outputs(toy):
    model = mopt.load(toy)
    (x,), (y,) = model.inputs, model.outputs
    assert (x.name, x.dtype, x.shape) == ("x", "float32", ("n", 4))
    assert (y.name, y.dtype, y.shape) == ("y", "float32", ("n", 4))
    assert "n" in repr(x)


@pytest.mark.parametrize("rows", [0, 1, 3, 1000])
def test_runs(toy, rows):
    model = mopt.load(str(toy), threads=2)
    x = np.random.default_rng(rows).standard_normal((rows, 4), np.float32)
    result = model.run({"x": x})
    assert list(result) == ["y"]
    np.testing.assert_array_equal(result["y"], expected(x))


def test_results_outlive_the_next_run_and_the_model(toy):
    model = mopt.load(toy)
    first = model.run({"x": np.ones((2, 4), np.float32)})["y"]
    second = model.run({"x": np.zeros((2, 4), np.float32)})["y"]
    del model
    np.testing.assert_array_equal(first, expected(np.ones((2, 4), np.float32)))
    np.testing.assert_array_equal(second, np.ones((2, 4), np.float32))


def test_takes_arrays_that_are_not_contiguous(toy):
    x = np.arange(24, dtype=np.float32).reshape(4, 6)[:, ::-1][:, :4]
    np.testing.assert_array_equal(mopt.load(toy).run({"x": x})["y"], expected(x))


def test_runs_from_many_threads(toy):
    model = mopt.load(toy, threads=2)
    wrong = []

    def work(seed):
        for i in range(50):
            x = np.full((seed + 1, 4), i, np.float32)
            if not np.array_equal(model.run({"x": x})["y"], expected(x)):
                wrong.append((seed, i))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        ({}, "MOPT-R035"),
        ({"x": np.zeros((1, 4), np.float32), "z": np.zeros(1, np.float32)}, "MOPT-R030"),
        ({"x": np.zeros((1, 4), np.float64)}, "MOPT-R031"),
        ({"x": np.zeros((1, 4), ">f4")}, "MOPT-R031"),
        ({"x": np.array(["a"])}, "MOPT-R031"),
        ({"x": np.zeros(4, np.float32)}, "MOPT-R032"),
        ({"x": np.zeros((1,) * 9, np.float32)}, "MOPT-R032"),
        ({"x": np.zeros((1, 5), np.float32)}, "MOPT-R033"),
    ],
)
def test_refuses_wrong_inputs(toy, inputs, code):
    model = mopt.load(toy)
    with pytest.raises(mopt.MoptError) as error:
        model.run(inputs)
    assert error.value.code == code
    assert str(error.value).startswith(code)
    assert "\n" not in str(error.value)
    # The model is usable afterwards.
    np.testing.assert_array_equal(model.run({"x": np.zeros((1, 4), np.float32)})["y"], np.ones((1, 4), np.float32))


def test_refuses_what_is_no_artifact(tmp_path, toy):
    with pytest.raises(mopt.MoptError, match="MOPT-R010"):
        mopt.load(tmp_path / "absent.so")
    cut = tmp_path / "cut.so"
    cut.write_bytes(toy.read_bytes()[:-100])
    with pytest.raises(mopt.MoptError):
        mopt.load(cut)


def test_damaged_weights_are_found_on_request(toy, tmp_path):
    data = bytearray(toy.read_bytes())
    data[int.from_bytes(data[-72:][16:24], "little") + 12345] ^= 1  # the trailer says where the weights are
    (tmp_path / "bad.so").write_bytes(data)
    mopt.load(tmp_path / "bad.so")
    with pytest.raises(mopt.MoptError, match="MOPT-R014: the weights are damaged near byte 0"):
        mopt.load(tmp_path / "bad.so", verify=True)
    assert mopt.load(toy, verify=True).runs_here


def test_saves(toy, tmp_path):
    model = mopt.load(toy)
    model.save(tmp_path / "copy.so")
    assert (tmp_path / "copy.so").read_bytes() == toy.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["copy.so"]
    with pytest.raises(mopt.MoptError, match="MOPT-I027"):
        model.save(tmp_path / "absent" / "copy.so")
