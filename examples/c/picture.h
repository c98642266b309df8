/* Pictures in memory and in PNG files. */
#ifndef PICTURE_H
#define PICTURE_H

#include <stddef.h>
#include <stdint.h>

/* Rows from the top; a pixel is red, green, blue, and alpha if there are four channels. */
typedef struct {
    int width, height, channels;
    uint8_t *pixels;
} picture;

/* Makes a picture with undefined content; free its pixels. Ends the program if it is too large. */
picture picture_create(int width, int height, int channels);

static inline uint8_t *picture_at(const picture *p, int x, int y) {
    return p->pixels + ((size_t)y * (size_t)p->width + (size_t)x) * (size_t)p->channels;
}

/* Reads any PNG as 8-bit sRGB, with alpha if it has some. Ends the program if it cannot. */
picture picture_read(const char *path);

/* Ends the program if picture_write() could not write there. */
void picture_check_writable(const char *path);

/* Writes a PNG beside its path and renames it when it is whole. Ends the program if it cannot. */
void picture_write(const picture *p, const char *path);

#endif /* PICTURE_H */
