#include "tokenizer.h"

#include "example.h"

enum { FIRST_BYTE = 3, LONGEST = 256 }; /* FIRST_BYTE: the tokens of the 256 bytes begin there */

static void read_exactly(FILE *file, const char *path, void *data, size_t bytes) {
    if (fread(data, 1, bytes, file) != bytes) {
        fail("%s ends too early for a tokenizer in llama2.c's format", path);
    }
}

static int by_text(const void *a, const void *b) {
    return strcmp(((const tokenizer_entry *)a)->text, ((const tokenizer_entry *)b)->text);
}

/* The token of a text, -1 if it is none. */
static int32_t find(const tokenizer *t, char *text) {
    const tokenizer_entry key = {text, 0};
    const tokenizer_entry *found = bsearch(&key, t->sorted, (size_t)t->size, sizeof key, by_text);
    return found == NULL ? -1 : found->token;
}

void tokenizer_open(const char *path, int32_t size, tokenizer *out_tokenizer) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail("cannot open the tokenizer %s: %s", path, strerror(errno));
    }
    const size_t n = (size_t)size;
    tokenizer t = {size, allocate(n * sizeof *t.texts), allocate(n * sizeof *t.scores), allocate(n * sizeof *t.sorted)};
    int32_t longest;
    read_exactly(file, path, &longest, sizeof longest);
    for (int32_t i = 0; i < size; i++) {
        int32_t length;
        read_exactly(file, path, &t.scores[i], sizeof t.scores[i]);
        read_exactly(file, path, &length, sizeof length);
        if (length < 1 || length > LONGEST) {
            fail("%s is no tokenizer in llama2.c's format: token %d has %d bytes", path, i, length);
        }
        t.texts[i] = allocate((size_t)length + 1);
        read_exactly(file, path, t.texts[i], (size_t)length);
        t.texts[i][length] = '\0';
        t.sorted[i] = (tokenizer_entry){t.texts[i], i};
    }
    if (fgetc(file) != EOF) {
        fail("%s has more than %d tokens", path, size);
    }
    fclose(file);
    qsort(t.sorted, n, sizeof *t.sorted, by_text);
    *out_tokenizer = t;
}

/* The bytes of the UTF-8 character that text begins with, at most 4. */
static size_t character(const char *text) {
    size_t n = 1;
    while (n < 4 && ((unsigned char)text[n] & 0xC0) == 0x80) {
        n++;
    }
    return n;
}

/* Joins the two neighbours whose joint token scores best. Says whether there were any. */
static int merge(const tokenizer *t, int32_t *tokens, int *n) {
    int at = -1;
    int32_t best = -1;
    for (int i = 1; i + 1 < *n; i++) { /* TOKEN_BEGIN stays */
        char text[2 * LONGEST + 1];
        snprintf(text, sizeof text, "%s%s", t->texts[tokens[i]], t->texts[tokens[i + 1]]);
        int32_t joint = find(t, text);
        if (joint >= 0 && (at < 0 || t->scores[joint] > t->scores[best])) {
            at = i;
            best = joint;
        }
    }
    if (at < 0) {
        return 0;
    }
    tokens[at] = best;
    (*n)--;
    memmove(&tokens[at + 1], &tokens[at + 2], (size_t)(*n - at - 1) * sizeof *tokens);
    return 1;
}

/* Writes the token of a character, or those of its bytes where it has none. */
static int encode_character(const tokenizer *t, const char *text, size_t length, int32_t *tokens) {
    char one[5] = {0};
    memcpy(one, text, length);
    tokens[0] = find(t, one);
    if (tokens[0] >= 0) {
        return 1;
    }
    for (size_t i = 0; i < length; i++) {
        tokens[i] = FIRST_BYTE + (unsigned char)text[i];
    }
    return (int)length;
}

int tokenizer_encode(const tokenizer *t, const char *text, int32_t *tokens) {
    int n = 0;
    tokens[n++] = TOKEN_BEGIN;
    if (*text == '\0') {
        return n;
    }
    n += encode_character(t, " ", 1, &tokens[n]); /* so that the first word is like any other */
    while (*text != '\0') {
        size_t length = character(text);
        n += encode_character(t, text, length, &tokens[n]);
        text += length;
    }
    while (merge(t, tokens, &n)) {
    }
    return n;
}

void tokenizer_print(const tokenizer *t, int32_t before, int32_t token, FILE *file) {
    const char *text = t->texts[token];
    if (token >= FIRST_BYTE && token < FIRST_BYTE + 256) {
        fputc(token - FIRST_BYTE, file);
    } else if (before == TOKEN_BEGIN && *text == ' ') {
        fputs(text + 1, file); /* without the space that encoding put there */
    } else {
        fputs(text, file);
    }
}

void tokenizer_close(tokenizer *t) {
    for (int32_t i = 0; i < t->size; i++) {
        free(t->texts[i]);
    }
    free(t->texts);
    free(t->scores);
    free(t->sorted);
}
