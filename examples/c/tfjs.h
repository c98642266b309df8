/*
 * Convolution weights in the form of TensorFlow.js: model.json lists the tensors in
 * the order in which they lie, as f32, in the .bin files that it names.
 */
#ifndef TFJS_H
#define TFJS_H

#include "qtsaccel.h"

/*
 * Reads the weights of the model in a folder, under their own names. Kernels
 * [height, width, in, out] become [out, in, height, width]. Ends the program if
 * the folder holds no such model.
 */
qtsa_weights tfjs_open(const char *folder);

#endif /* TFJS_H */
