/* mdsm for C and for what speaks C. Models are opaque, images are plain float32 arrays N,C,H,W in [0,1] that
 * the caller owns. Functions return MDSM_OK or what went wrong; mdsm_error() then has the text. No C++
 * exception leaves them. A model is used by one thread at a time; different models may run side by side. */
#ifndef MDSM_C_H
#define MDSM_C_H

#include <mdsm/version.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum mdsm_status {
  MDSM_OK = 0,
  MDSM_FAILURE = 1,  /* what was asked could not be done */
  MDSM_USAGE = 2,    /* what was asked makes no sense */
  MDSM_CANCELLED = 3 /* a progress function said stop */
} mdsm_status;

typedef struct mdsm_model mdsm_model;

typedef struct mdsm_shape {
  int64_t channels, height, width;
} mdsm_shape;

/* done of total images or training steps. Not 0 stops the call. */
typedef int (*mdsm_progress)(void* user, int64_t done, int64_t total);

/* A list of options by name, "sampler=fast", "width=16", that ends with NULL; or NULL for none. The names are
 * those of the command line. */
typedef const char* const* mdsm_settings;

/* What went wrong in the last call of this thread that did not return MDSM_OK, and what to do about it: one
 * line. Stays until the thread's next failure. */
const char* mdsm_error(void);
const char* mdsm_version(void);     /* of the library, "0.2.0" */
void mdsm_set_threads(int threads); /* 0 = all; for the whole process */

/* name: a model that comes with mdsm ("fashion-mnist"), a model file, or a run folder. settings: engine,
 * device, batch, tile, precision. */
mdsm_status mdsm_model_load(const char* name, mdsm_settings settings, mdsm_model** model);
void mdsm_model_free(mdsm_model* model); /* NULL is fine */
mdsm_shape mdsm_model_shape(const mdsm_model* model);
/* Models of --net unet take images of any size: sets the shape of the images of all calls from now on. Of
 * other models MDSM_USAGE, unless it is the size they have. */
mdsm_status mdsm_model_set_size(mdsm_model* model, int64_t height, int64_t width);
double mdsm_model_sigma0(const mdsm_model* model); /* x - sigma0^2 dE/dx is the denoised image */

/* energy: n values, gradient: n images, +dE/dx; either may be NULL. */
mdsm_status mdsm_energy(mdsm_model* model, const float* images, int64_t n, float* energy, float* gradient);
/* One image for each of n seeds. settings: sampler and its options. */
mdsm_status mdsm_sample(mdsm_model* model, const uint64_t* seeds, int64_t n, mdsm_settings settings,
                        mdsm_progress progress, void* user, float* images);
/* noise: n values, the standard deviation that the model saw; may be NULL. out may be images. */
mdsm_status mdsm_denoise(mdsm_model* model, const float* images, int64_t n, float* out, float* noise);
/* known: n masks of height*width, 1 known, 0 missing. Image i is completed with seeds[i]. */
mdsm_status mdsm_inpaint(mdsm_model* model, const float* images, const uint8_t* known, const uint64_t* seeds,
                         int64_t n, mdsm_settings settings, mdsm_progress progress, void* user, float* out);

/* Of a PNG, JPEG, TIFF or WebP file. */
mdsm_status mdsm_picture_shape(const char* path, mdsm_shape* shape);
/* A picture file as one image of the model's shape: resized or padded for a model of one size; for one of
 * any size it must have the size that is set. */
mdsm_status mdsm_read_picture(const mdsm_model* model, const char* path, float* image);
mdsm_status mdsm_write_png(const char* path, const float* image, mdsm_shape shape);

/* Images to train on. read copies image `index` to out, in [0,1], and returns 0; it is called from several
 * threads. */
typedef struct mdsm_dataset {
  int64_t size;
  mdsm_shape shape;
  int (*read)(void* user, int64_t index, float* out);
  void* user;
} mdsm_dataset;

/* Trains in a numbered folder in outdir, or goes on with the run folder `resume` (then outdir may be NULL).
 * settings: the options of `mdsm train`. model: gets the path of the model file, capacity characters with the
 * ending 0; may be NULL. A stop saves the state and is MDSM_CANCELLED. */
mdsm_status mdsm_train(const mdsm_dataset* images, const char* outdir, const char* resume,
                       mdsm_settings settings, mdsm_progress progress, void* user, char* model,
                       int64_t capacity);

#ifdef __cplusplus
}
#endif

#endif
