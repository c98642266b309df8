/*
 * stories260K, a transformer of the Llama 2 shape that tells stories for children
 * (karpathy's tinyllamas, MIT), stepped one token at a time.
 */
#ifndef STORY_MODEL_H
#define STORY_MODEL_H

#include "qtsaccel.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { STORY_VOCABULARY = 512, STORY_CONTEXT = 512 };

/* An opened model with the keys and values of the tokens that it has seen. */
typedef struct {
    qtsa_weights weights;
    qtsa_graph graph;
    qtsa_session session;
    qtsa_plan plan;
} story_model;

/*
 * Opens the weights, GGUF or safetensors with llama.cpp's tensor names, and builds
 * the step. On failure qtsa_last_error() has the words and there is nothing to
 * close.
 */
qtsa_status story_open(qtsa_backend backend, const char *path, story_model *out_model);

/*
 * Reads a token at a position, from 0, and gives the logits [STORY_VOCABULARY] of
 * the one after it; logits may be null where they are not wanted. The tokens at
 * all positions before must have been read.
 */
qtsa_status story_step(const story_model *model, int32_t token, int32_t position, float *logits);

/* Forgets all tokens. */
qtsa_status story_reset(const story_model *model);

/* Gives everything back. */
void story_close(story_model *model);

#ifdef __cplusplus
}
#endif

#endif /* STORY_MODEL_H */
