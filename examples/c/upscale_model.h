/*
 * ESRGAN-slim ×2 (@upscalerjs/esrgan-slim, MIT): a small network that makes
 * pictures twice as large.
 */
#ifndef UPSCALE_MODEL_H
#define UPSCALE_MODEL_H

#include "qtsaccel.h"

enum {
    UPSCALE_FACTOR = 2,
    /* How far a pixel of the picture can reach in the result, in pixels of the
     * picture: 1 for each 3x3 convolution (six of them in a row), 2 for the 5x5,
     * 1 for the last 3x3, on the large picture, rounded up. */
    UPSCALE_REACH = 10,
};

/* An opened model for windows of one size. */
typedef struct {
    qtsa_graph graph;
    qtsa_session session;
    qtsa_plan plan;
    int height, width;
} upscale_model;

/*
 * Opens the model in a folder for windows of height x width pixels, and builds its
 * graph. Ends the program on failure, as the functions below do.
 */
upscale_model upscale_open(qtsa_backend backend, const char *folder, int height, int width);

/*
 * Makes a window twice as large: pixels [3, height, width] in, [3, 2 * height,
 * 2 * width] out, planes of red, green and blue from 0 to 255. What comes out may
 * lie beyond these. Beyond the window's border the network sees zeros.
 */
void upscale_window(const upscale_model *model, const float *pixels, float *out_pixels);

void upscale_close(upscale_model *model);

#endif /* UPSCALE_MODEL_H */
