/* Draws four new images and fills in the lower half of the first: draw [MODEL]
 * By hand: cc draw.c $(pkg-config --cflags --libs mdsm) -o draw */
#include <mdsm/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int show(void* user, int64_t done, int64_t total) {
  (void)user;
  fprintf(stderr, "\r%lld of %lld images", (long long)done, (long long)total);
  return 0; /* anything else would stop it */
}

static int failed(void) {
  fprintf(stderr, "error: %s\n", mdsm_error());
  return 1;
}

int main(int argc, char** argv) {
  const uint64_t seeds[4] = {0, 1, 2, 3};
  const char* settings[] = {"sampler=fast", NULL};
  mdsm_model* model = NULL;
  if (mdsm_model_load(argc > 1 ? argv[1] : "fashion-mnist", NULL, &model) != MDSM_OK) return failed();

  const mdsm_shape shape = mdsm_model_shape(model);
  const size_t pixels = (size_t)(shape.height * shape.width), values = pixels * (size_t)shape.channels;
  float* images = malloc(4 * values * sizeof(float));
  uint8_t* known = malloc(pixels);
  int code = images && known ? 0 : 1;

  if (code == 0 && mdsm_sample(model, seeds, 4, settings, show, NULL, images) != MDSM_OK) code = failed();
  fputc('\n', stderr);
  for (int i = 0; code == 0 && i < 4; ++i) {
    char name[32];
    snprintf(name, sizeof name, "drawn-%d.png", i);
    if (mdsm_write_png(name, images + (size_t)i * values, shape) != MDSM_OK) code = failed();
  }

  if (code == 0) {
    memset(known, 1, pixels);
    memset(known + pixels / 2, 0, pixels - pixels / 2);
    if (mdsm_inpaint(model, images, known, seeds + 1, 1, NULL, NULL, NULL, images) != MDSM_OK ||
        mdsm_write_png("completed.png", images, shape) != MDSM_OK)
      code = failed();
  }
  if (code == 0) puts("written: drawn-0.png to drawn-3.png, completed.png");
  free(known);
  free(images);
  mdsm_model_free(model);
  return code;
}
