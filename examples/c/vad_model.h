/*
 * Silero VAD for 16 kHz, version 5 or 6 (snakers4/silero-vad, MIT): the
 * probability that a short window of sound holds speech, given the windows before.
 */
#ifndef VAD_MODEL_H
#define VAD_MODEL_H

#include "qtsaccel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A window is VAD_FRESH new samples after the VAD_CONTEXT last ones of the window
 * before it, zeros before the first. */
enum { VAD_SAMPLE_RATE = 16000, VAD_CONTEXT = 64, VAD_FRESH = 512, VAD_WINDOW = VAD_CONTEXT + VAD_FRESH };

/* An opened model with what it remembers of the windows before. */
typedef struct {
    qtsa_weights weights;
    qtsa_graph graph;
    qtsa_session session;
    qtsa_plan plan;
} vad_model;

/*
 * Opens the weights, safetensors with the names of Silero's own PyTorch model, and
 * builds the graph. On failure qtsa_last_error() has the words and there is
 * nothing to close.
 */
qtsa_status vad_open(qtsa_backend backend, const char *path, vad_model *out_model);

/* Gives the probability for the next window of VAD_WINDOW samples in [-1, 1]. */
qtsa_status vad_window(const vad_model *model, const float *samples, float *out_probability);

/* Begins a new recording. */
qtsa_status vad_reset(const vad_model *model);

/* Gives everything back. */
void vad_close(vad_model *model);

#ifdef __cplusplus
}
#endif

#endif /* VAD_MODEL_H */
