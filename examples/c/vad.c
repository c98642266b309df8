/*
 * vad: says where in a recording somebody speaks, with Silero VAD on any backend.
 *
 *     vad --model silero_vad_16k.safetensors talk.wav
 */
#include <math.h>
#include <sndfile.h>

#include "example.h"
#include "vad_model.h"

static const char usage[] =
    "usage: vad [options] FILE.wav\n"
    "Prints the stretches of speech in a recording, in seconds: 16 kHz, WAV or whatever\n"
    "else libsndfile reads; several channels are averaged.\n"
    "\n"
    "  --backend NAME    auto, cpu, cuda, vulkan, metal or reference\n"
    "  --model FILE      the weights (silero_vad_16k.safetensors)\n"
    "  --threshold P     speech begins at this probability (0.5) and ends 0.15 below it\n"
    "  --json            prints [{\"start\": seconds, \"end\": seconds}, ...]\n"
    "  --dump-probs FILE writes the probability of each window of 32 ms, one a line\n";

typedef struct {
    const char *backend, *model, *recording, *dump_probs;
    float threshold;
    int json;
} options;

static float option_probability(const char *name, const char *text) {
    char *end;
    float value = strtof(text, &end);
    if (end == text || *end != '\0' || !(value > 0 && value < 1)) {
        fail("%s needs a number between 0 and 1, not \"%s\"", name, text);
    }
    return value;
}

static options parse(char **argv) {
    options o = {.model = "silero_vad_16k.safetensors", .threshold = 0.5f};
    for (int i = 1; argv[i] != NULL; i++) {
        const char *value;
        if (strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            exit(EXIT_SUCCESS);
        } else if ((value = option(argv, &i, "--backend")) != NULL) {
            o.backend = value;
        } else if ((value = option(argv, &i, "--model")) != NULL) {
            o.model = value;
        } else if ((value = option(argv, &i, "--threshold")) != NULL) {
            o.threshold = option_probability("--threshold", value);
        } else if ((value = option(argv, &i, "--dump-probs")) != NULL) {
            o.dump_probs = value;
        } else if (strcmp(argv[i], "--json") == 0) {
            o.json = 1;
        } else if (argv[i][0] == '-' || o.recording != NULL) {
            fail("%s is not understood\n%s", argv[i], usage);
        } else {
            o.recording = argv[i];
        }
    }
    if (o.recording == NULL) {
        fail("which recording?\n%s", usage);
    }
    return o;
}

/* A recording, read window by window. */
typedef struct {
    const char *path;
    SNDFILE *file;
    SF_INFO info;
    float *frames; /* VAD_FRESH of them, all channels */
    int64_t samples;
} recording;

static recording open_recording(const char *path) {
    recording r = {.path = path};
    r.file = sf_open(path, SFM_READ, &r.info);
    if (r.file == NULL) {
        fail("cannot read %s: %s", path, sf_strerror(NULL));
    }
    if (r.info.samplerate != VAD_SAMPLE_RATE) {
        fail(
            "%s has %d samples a second, and the model listens to %d; convert it, for example with\n"
            "  ffmpeg -i %s -ar %d converted.wav",
            path, r.info.samplerate, VAD_SAMPLE_RATE, path, VAD_SAMPLE_RATE);
    }
    r.frames = allocate(VAD_FRESH * (size_t)r.info.channels * sizeof *r.frames);
    return r;
}

/* Moves a window on. The last one is filled up with zeros; returns 0 after it. */
static int next_window(recording *r, float *window) {
    const sf_count_t n = sf_readf_float(r->file, r->frames, VAD_FRESH);
    if (n <= 0) {
        if (sf_error(r->file) != SF_ERR_NO_ERROR) {
            fail("cannot read %s: %s", r->path, sf_strerror(r->file));
        }
        return 0;
    }
    memmove(window, window + VAD_FRESH, VAD_CONTEXT * sizeof *window);
    for (int i = 0; i < VAD_FRESH; i++) {
        float sum = 0;
        for (int channel = 0; i < n && channel < r->info.channels; channel++) {
            sum += r->frames[i * r->info.channels + channel];
        }
        if (!isfinite(sum)) {
            fail("%s: sample %lld is no number", r->path, (long long)(r->samples + i));
        }
        window[VAD_CONTEXT + i] = sum / (float)r->info.channels;
    }
    r->samples += n;
    return 1;
}

/*
 * Joins probabilities to stretches, as Silero's own tools do: speech begins where
 * the probability reaches the threshold and ends where it falls 0.15 below it and
 * has not been back for 0.1 s; speech of less than 0.25 s is none.
 */
typedef struct {
    float threshold;
    int64_t start; /* of the speech that lasts, in samples, or -1 */
    int64_t pause; /* where it may have ended, or -1 */
    int json, count;
} segmenter;

enum { MIN_SPEECH = VAD_SAMPLE_RATE / 4, MIN_PAUSE = VAD_SAMPLE_RATE / 10 };

static void end_speech(segmenter *s, int64_t end) {
    if (end - s->start > MIN_SPEECH) {
        const double from = (double)s->start / VAD_SAMPLE_RATE, to = (double)end / VAD_SAMPLE_RATE;
        if (s->json) {
            printf("%s{\"start\": %.3f, \"end\": %.3f}", s->count > 0 ? ", " : "", from, to);
        } else {
            printf("%.3f - %.3f\n", from, to);
        }
        fflush(stdout);
        s->count++;
    }
    s->start = s->pause = -1;
}

/* Takes the probability of the window whose new samples begin at a sample. */
static void add_probability(segmenter *s, float p, int64_t at) {
    const float low = s->threshold > 0.16f ? s->threshold - 0.15f : 0.01f;
    if (p >= s->threshold) {
        s->pause = -1;
        if (s->start < 0) {
            s->start = at;
        }
    } else if (s->start >= 0 && p < low) {
        if (s->pause < 0) {
            s->pause = at;
        }
        if (at - s->pause >= MIN_PAUSE) {
            end_speech(s, s->pause);
        }
    }
}

int main(int argc, char **argv) {
    (void)argc;
    const options o = parse(argv);
    recording r = open_recording(o.recording);
    FILE *dump = o.dump_probs == NULL ? NULL : fopen(o.dump_probs, "w");
    if (o.dump_probs != NULL && dump == NULL) {
        fail("cannot write %s: %s", o.dump_probs, strerror(errno));
    }

    char device[256];
    vad_model model;
    qtsa_backend backend = open_backend(o.backend, device, sizeof device);
    CHECK(vad_open(backend, o.model, &model));

    segmenter s = {.threshold = o.threshold, .start = -1, .pause = -1, .json = o.json};
    float window[VAD_WINDOW] = {0};
    const double start = seconds();
    fputs(o.json ? "[" : "", stdout);
    for (int64_t at = 0; next_window(&r, window); at += VAD_FRESH) {
        float p;
        CHECK(vad_window(&model, window, &p));
        if (dump != NULL) {
            fprintf(dump, "%.9g\n", (double)p);
        }
        add_probability(&s, p, at);
    }
    if (s.start >= 0) {
        end_speech(&s, r.samples);
    }
    fputs(o.json ? "]\n" : "", stdout);
    const double length = (double)r.samples / VAD_SAMPLE_RATE, elapsed = seconds() - start;
    fprintf(stderr, "%s, %.1f s of sound in %.3f s, %d stretches of speech\n", device, length, elapsed, s.count);

    if (dump != NULL && (ferror(dump) | fclose(dump)) != 0) {
        fail("cannot write %s", o.dump_probs);
    }
    vad_close(&model);
    CHECK(qtsa_backend_free(backend));
    sf_close(r.file);
    free(r.frames);
    return EXIT_SUCCESS;
}
