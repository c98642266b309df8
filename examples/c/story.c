/*
 * story: tells a story with stories260K, token by token, on any backend.
 *
 *     story --model stories260K_f32.gguf "Once upon a time"
 */
#include "example.h"
#include "story_model.h"
#include "tokenizer.h"

static const char usage[] =
    "usage: story [options] [PROMPT]\n"
    "Continues PROMPT, or tells a story from nothing, always taking the likeliest token.\n"
    "\n"
    "  --backend NAME     auto, cpu, cuda, vulkan, metal or reference\n"
    "  --model FILE       the weights, GGUF or safetensors (stories260K_f32.gguf)\n"
    "  --tokenizer FILE   the tokenizer (tok512.bin beside the weights)\n"
    "  --tokens N         tokens to add at most (256)\n"
    "  --dump-tokens FILE writes all tokens, one a line\n"
    "  --dump-logits FILE writes the logits after each token, f32 [tokens, 512]\n";

typedef struct {
    const char *backend, *model, *tokenizer, *dump_tokens, *dump_logits, *prompt;
    int tokens;
} options;

static options parse(char **argv) {
    options o = {.model = "stories260K_f32.gguf", .prompt = "", .tokens = 256};
    int prompts = 0;
    for (int i = 1; argv[i] != NULL; i++) {
        const char *value;
        if (strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            exit(EXIT_SUCCESS);
        } else if ((value = option(argv, &i, "--backend")) != NULL) {
            o.backend = value;
        } else if ((value = option(argv, &i, "--model")) != NULL) {
            o.model = value;
        } else if ((value = option(argv, &i, "--tokenizer")) != NULL) {
            o.tokenizer = value;
        } else if ((value = option(argv, &i, "--tokens")) != NULL) {
            o.tokens = option_int("--tokens", value, 1, STORY_CONTEXT);
        } else if ((value = option(argv, &i, "--dump-tokens")) != NULL) {
            o.dump_tokens = value;
        } else if ((value = option(argv, &i, "--dump-logits")) != NULL) {
            o.dump_logits = value;
        } else if (argv[i][0] == '-' || prompts++ > 0) {
            fail("%s is not understood\n%s", argv[i], usage);
        } else {
            o.prompt = argv[i];
        }
    }
    return o;
}

/* The tokenizer beside the model, or the one that was asked for. */
static void open_tokenizer(const options *o, tokenizer *t) {
    if (o->tokenizer != NULL) {
        tokenizer_open(o->tokenizer, STORY_VOCABULARY, t);
        return;
    }
    const char *slash = strrchr(o->model, '/');
    const int folder = slash == NULL ? 0 : (int)(slash + 1 - o->model);
    char path[4096];
    if (snprintf(path, sizeof path, "%.*stok512.bin", folder, o->model) >= (int)sizeof path) {
        fail("the path of the model is too long");
    }
    tokenizer_open(path, STORY_VOCABULARY, t);
}

/* A file to write to, or null where none is asked for. */
static FILE *create(const char *path) {
    FILE *file = path == NULL ? NULL : fopen(path, "wb");
    if (path != NULL && file == NULL) {
        fail("cannot write %s: %s", path, strerror(errno));
    }
    return file;
}

static void finish(FILE *file, const char *path) {
    if (file != NULL && (ferror(file) | fclose(file)) != 0) {
        fail("cannot write %s", path);
    }
}

static int32_t likeliest(const float *logits) {
    int32_t best = 0;
    for (int32_t i = 1; i < STORY_VOCABULARY; i++) {
        if (logits[i] > logits[best]) {
            best = i;
        }
    }
    return best;
}

/* The prompt's tokens, in an array with room for the whole context. */
static int32_t *encode(const tokenizer *t, const char *prompt, int *out_count) {
    const size_t length = strlen(prompt), room = STORY_CONTEXT + 1;
    if (length > 8 * room) { /* no token is longer than 7 bytes */
        fail("the prompt is too long: the model sees %d tokens", STORY_CONTEXT);
    }
    int32_t *tokens = allocate((length + 2 > room ? length + 2 : room) * sizeof *tokens);
    *out_count = tokenizer_encode(t, prompt, tokens);
    if (*out_count > STORY_CONTEXT) {
        fail("the prompt has %d tokens; the model sees %d", *out_count, STORY_CONTEXT);
    }
    return tokens;
}

int main(int argc, char **argv) {
    (void)argc;
    const options o = parse(argv);
    FILE *dump_tokens = create(o.dump_tokens), *dump_logits = create(o.dump_logits);
    tokenizer t;
    open_tokenizer(&o, &t);
    int n;
    int32_t *tokens = encode(&t, o.prompt, &n);

    char device[256];
    story_model model;
    qtsa_backend backend = open_backend(o.backend, device, sizeof device);
    CHECK(story_open(backend, o.model, &model));

    float logits[STORY_VOCABULARY];
    int end = n + o.tokens;
    const double start = seconds();
    int position = 0;
    for (; position < STORY_CONTEXT && position + 1 < end; position++) {
        const int wanted = position + 1 == n || dump_logits != NULL;
        CHECK(story_step(&model, tokens[position], position, wanted ? logits : NULL));
        if (dump_logits != NULL) {
            fwrite(logits, sizeof *logits, STORY_VOCABULARY, dump_logits);
        }
        if (position + 1 == n) { /* beyond the prompt, the model goes on */
            tokens[n++] = likeliest(logits);
        }
        if (tokens[position + 1] == TOKEN_BEGIN || tokens[position + 1] == TOKEN_END) {
            break; /* the story is over */
        }
        tokenizer_print(&t, tokens[position], tokens[position + 1], stdout);
        fflush(stdout);
    }
    const double elapsed = seconds() - start;
    putchar('\n');
    fprintf(stderr, "%s, %d tokens, %.3f s, %.0f tokens/s\n", device, position, elapsed, position / elapsed);

    for (int i = 0; dump_tokens != NULL && i < n; i++) {
        fprintf(dump_tokens, "%d\n", tokens[i]);
    }
    finish(dump_tokens, o.dump_tokens);
    finish(dump_logits, o.dump_logits);
    story_close(&model);
    CHECK(qtsa_backend_free(backend));
    free(tokens);
    tokenizer_close(&t);
    return EXIT_SUCCESS;
}
