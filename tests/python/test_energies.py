"""Energies of Python, sums of energies, PyTorch, kinds and layouts of arrays."""
import numpy
import pytest

import mdsm


def gaussian(mean, spread):
    def energy(x):
        return ((x - mean) ** 2).sum((1, 2, 3)) / (2 * spread**2), (x - mean) / spread**2

    return mdsm.energy(energy, (1, 2, 2))


def moments(energy):
    images = energy.sample(400, sampler="hmc", schedule="constant", steps=60, jump=False, batch=400)
    return images.mean(), images.std(), 1 / numpy.sqrt(images.size)


def test_a_function_is_sampled():
    mean, spread, error = moments(gaussian(0.3, 0.2))
    assert abs(mean - 0.3) < 4 * 0.2 * error and abs(spread - 0.2) < 4 * 0.2 * error


def test_a_sum_of_two_gaussians_is_their_product():
    """Precisions add; the mean is weighted by them: 1/0.2² and twice 1/0.4²."""
    mean, spread, error = moments(gaussian(0.2, 0.2) + 2 * gaussian(0.8, 0.4))
    precision = 1 / 0.2**2 + 2 / 0.4**2
    wanted = (0.2 / 0.2**2 + 2 * 0.8 / 0.4**2) / precision
    assert abs(mean - wanted) < 4 * error / precision**0.5 and abs(spread - precision**-0.5) < 4 * error / precision**0.5


def test_sums(clothes):
    a, b, x = mdsm.load("fashion-mnist"), mdsm.load("mnist"), clothes[:3]
    both = a - b / 2
    assert numpy.allclose(both.energy(x), a.energy(x) - b.energy(x) / 2, rtol=1e-5)
    assert numpy.allclose(both.energy_and_gradient(x)[1], a.energy_and_gradient(x)[1] - b.energy_and_gradient(x)[1] / 2, atol=1e-3)
    assert (0.5 * a + 0.5 * b).sample(2, sampler="fast", steps=5).shape == (2, 1, 28, 28)
    assert numpy.array_equal((a + a).energy(x), 2 * a.energy(x)) and numpy.array_equal((numpy.float64(2) * a).energy(x), 2 * a.energy(x))


def test_an_energy_of_python_in_a_sum(clothes):
    model = mdsm.load("fashion-mnist")
    bright = mdsm.energy(lambda x: (-x.sum((1, 2, 3)), -numpy.ones_like(x)), model.shape, model.sigma0)
    images = (model + 20 * bright).sample(4, sampler="fast", steps=20)
    assert images.mean() > model.sample(4, sampler="fast", steps=20).mean()


def test_what_a_function_raises_comes_through():
    def broken(x):
        raise LookupError("not today")

    with pytest.raises(LookupError, match="not today"):
        mdsm.energy(broken, (1, 2, 2)).sample(2, sampler="fast")


def test_torch():
    torch = pytest.importorskip("torch")
    model = mdsm.load("fashion-mnist")
    x = torch.rand(3, 1, 28, 28, requires_grad=True)
    (model.as_torch()(x) * torch.tensor([1.0, 2.0, -1.0])).sum().backward()
    energies, gradients = model.energy_and_gradient(x)
    assert torch.is_tensor(energies) and torch.equal(x.grad, gradients * torch.tensor([1.0, 2.0, -1.0]).reshape(3, 1, 1, 1))
    clean, noise = model.denoise(x.detach())
    assert torch.is_tensor(clean) and torch.is_tensor(noise) and clean.shape == x.shape


def test_layouts(unet, clothes):
    model, x = mdsm.load(unet), clothes[:2]
    whole = model.energy(x)
    assert isinstance(model.energy(x[0]), float) and model.energy(x[0]) == model.energy(x[0, 0]) == whole[0]
    assert numpy.array_equal(model.energy(x.transpose(0, 2, 3, 1)), whole)
    assert numpy.array_equal(model.energy(x.astype(numpy.float64)), whole)
    bytes_ = numpy.rint(x * 255).astype(numpy.uint8)
    clean, noise = model.denoise(bytes_)
    assert clean.dtype == numpy.uint8 and clean.shape == x.shape and noise.shape == (2,)
    assert numpy.array_equal(clean, numpy.rint(model.denoise(bytes_ / numpy.float32(255))[0] * 255))
    assert model.denoise(bytes_[0].transpose(1, 2, 0))[0].shape == (32, 32, 1)
    assert model.energy_and_gradient(numpy.asfortranarray(x))[1].shape == x.shape
