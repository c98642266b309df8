/*
 * The tokenizer of the tinyllamas: byte pair encoding with scores, in the file
 * format of llama2.c (tokenizer.bin): an i32, the longest token's length, then for
 * each token an f32 score, an i32 length, and its bytes.
 */
#ifndef TOKENIZER_H
#define TOKENIZER_H

#include <stdint.h>
#include <stdio.h>

enum { TOKEN_BEGIN = 1, TOKEN_END = 2 };

/* A text that is a token. */
typedef struct {
    char *text;
    int32_t token;
} tokenizer_entry;

typedef struct {
    int32_t size;
    char **texts;            /* by token */
    float *scores;           /* by token */
    tokenizer_entry *sorted; /* by text */
} tokenizer;

/* Reads a file that holds size tokens; ends the program if it does not. */
void tokenizer_open(const char *path, int32_t size, tokenizer *out_tokenizer);

/*
 * Writes TOKEN_BEGIN and the text's tokens, strlen(text) + 2 at most, and returns
 * their number.
 */
int tokenizer_encode(const tokenizer *t, const char *text, int32_t *tokens);

/* Prints what a token stands for after the token before it. */
void tokenizer_print(const tokenizer *t, int32_t before, int32_t token, FILE *file);

void tokenizer_close(tokenizer *t);

#endif /* TOKENIZER_H */
