"""Images with defects to try `mdsm score` on (docs/score.md, "Two examples"): takes images that are as they should be, and damages some.

    python3 examples/damage.py SOURCE FOLDER

SOURCE is a data set such as fashion-mnist, whose test images are taken, or a photograph, which is cut into squares of --side pixels. FOLDER gets
PNG files: good/ for a detector, fresh/ with others, and damaged/ with more that have a scratch, a stain, a hole or a patch of noise; their names say
which. Where there are few images, two thirds are good, a sixth fresh, a sixth damaged.
"""
import argparse
import os

import numpy as np

import mdsm


def images_of(source, side):
    """N,C,H,W"""
    if not os.path.isfile(source):
        return mdsm.data(source, split="test", pad=0)[:]
    photograph = mdsm.read_picture(source)
    channels, height, width = photograph.shape
    rows, columns = height // side, width // side
    squares = photograph[:, :rows * side, :columns * side].reshape(channels, rows, side, columns, side)
    return squares.transpose(1, 3, 0, 2, 4).reshape(-1, channels, side, side)


def place(image, random, side):
    """Corner of a square within the image, of ten at random the one with most in it: a hole in black is none."""
    corners = [(random.integers(image.shape[1] - side + 1), random.integers(image.shape[2] - side + 1)) for _ in range(10)]
    return max(corners, key=lambda at: image[:, at[0]:at[0] + side, at[1]:at[1] + side].mean())


def scratch(image, random):
    """A line, white on dark and black on bright, across half of the image."""
    side = image.shape[1]
    y, x, angle = random.uniform(0.3, 0.7) * side, random.uniform(0.3, 0.7) * side, random.uniform(0, np.pi)
    for t in np.arange(-side / 4, side / 4, 0.25):
        row, column = int(y + t * np.sin(angle)), int(x + t * np.cos(angle))
        image[:, row, column] = float(image.mean() < 0.5)


def stain(image, random):
    """Half as bright, round."""
    top, left = place(image, random, 8)
    y, x = np.ogrid[-3.5:4, -3.5:4]
    image[:, top:top + 8, left:left + 8] *= np.where(y * y + x * x < 16, 0.5, 1)


def hole(image, random):
    top, left = place(image, random, 5)
    image[:, top:top + 5, left:left + 5] = 0


def noise(image, random):
    top, left = place(image, random, 5)
    image[:, top:top + 5, left:left + 5] = random.random((image.shape[0], 5, 5))


def write(folder, name, image):
    os.makedirs(folder, exist_ok=True)
    mdsm.write_png(os.path.join(folder, name + ".png"), image)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", metavar="SOURCE")
    parser.add_argument("folder", metavar="FOLDER")
    parser.add_argument("--side", type=int, default=32, help="of the squares of a photograph, in pixels [%(default)s]")
    parser.add_argument("--good", type=int, default=600, help="at most so many images for good [%(default)s]")
    parser.add_argument("--each", type=int, default=100, help="and so many for fresh and for damaged [%(default)s]")
    parser.add_argument("--seed", type=int, default=0, help="[%(default)s]")
    options = parser.parse_args()
    random = np.random.default_rng(options.seed)
    images = random.permutation(images_of(options.source, options.side))
    each = min(options.each, len(images) // 6)
    good = images[2 * each:][:options.good]
    for i, image in enumerate(good):
        write(os.path.join(options.folder, "good"), f"{i:04d}", image)
    for i, image in enumerate(images[:each]):
        write(os.path.join(options.folder, "fresh"), f"{i:03d}", image)
    for i, image in enumerate(images[each:2 * each]):
        kind = (scratch, stain, hole, noise)[i % 4]
        damaged = image.copy()
        kind(damaged, random)
        write(os.path.join(options.folder, "damaged"), f"{i:03d}-{kind.__name__}", damaged)
    print(f"{options.folder}: good {len(good)}, fresh {each}, damaged {each}")


main()
