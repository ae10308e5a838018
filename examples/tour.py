"""A tour of the Python module, from a trained model to pictures: draws, denoises, completes, composes and scores, and writes a figure of each.

    python3 examples/tour.py [FOLDER]

Takes a minute. FOLDER gets samples.png, denoised.png, completed.png, composed.png and path.png.
"""
import os
import sys

import numpy as np

import mdsm

folder = sys.argv[1] if len(sys.argv) > 1 else "tour"
os.makedirs(folder, exist_ok=True)
random = np.random.default_rng(0)


def sheet(name, rows):
    """Rows of images, side by side, three times as large."""
    picture = np.concatenate([np.concatenate(list(row[:, 0]), axis=1) for row in rows])
    mdsm.write_png(os.path.join(folder, name), picture.repeat(3, 0).repeat(3, 1))
    print(f"{os.path.join(folder, name)}")


# A model is an energy with a gradient. Low energy: a likely image.
model = mdsm.load("fashion-mnist")
images = model.sample(16, seeds=range(16), progress=True)
sheet("samples.png", [images[:8], images[8:]])
energies, gradients = model.energy_and_gradient(images)
print(f"energies of samples {energies.mean():.0f} on average, of noise {model.energy(random.random(images.shape)).mean():.0f}")

# Noise of a strength that nobody tells the model.
clothes = mdsm.data("fashion-mnist", split="test", limit=8, pad=0)[:]
noisy = clothes + random.uniform(0.1, 0.8, (8, 1, 1, 1)) * random.standard_normal(clothes.shape)
clean, noise = model.denoise(noisy)
print("noise found:", " ".join(f"{sigma:.2f}" for sigma in noise))
sheet("denoised.png", [clothes, np.clip(noisy, 0, 1), clean])

# The lower half is missing: four completions of each of four images.
known = np.ones((28, 28), bool)
known[14:] = False
filled = [model.inpaint(image, known, n=4, sampler="fast") for image in clothes[:4]]
sheet("completed.png", [np.concatenate([image[None] * known, completions, image[None]]) for image, completions in zip(clothes, filled)])

# Energies add: images that are likely as clothes and, a little, as digits; and clothes that are bright on the left.
digits = mdsm.load("mnist")
left = np.linspace(-1, 1, 28, dtype=np.float32)[None, None, None, :]
tilt = mdsm.energy(lambda x: ((x * left).sum((1, 2, 3)), np.broadcast_to(left, x.shape)), model.shape, model.sigma0)
both = (0.5 * model + 0.5 * digits).sample(8)
sheet("composed.png", [np.clip(both, 0, 1), np.clip((model + 6 * tilt).sample(8), 0, 1)])

# The energy along the straight line from one image to another.
steps = np.linspace(0, 1, 9, dtype=np.float32)[:, None, None, None]
line = (1 - steps) * clothes[0] + steps * clothes[1]
print("energy along the line:", " ".join(f"{energy:.0f}" for energy in model.energy(line)))
sheet("path.png", [line])
