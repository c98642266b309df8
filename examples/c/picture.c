#include "picture.h"

#include <png.h>
#include <sys/stat.h>
#include <unistd.h>

#include "example.h"

picture picture_create(int width, int height, int channels) {
    const uint64_t bytes = (uint64_t)width * (uint64_t)height * (uint64_t)channels;
    if (bytes > UINT32_MAX) {
        fail("%d x %d pixels are more than libpng can hold", width, height);
    }
    return (picture){width, height, channels, allocate(bytes)};
}

picture picture_read(const char *path) {
    png_image image = {.version = PNG_IMAGE_VERSION};
    if (!png_image_begin_read_from_file(&image, path)) {
        fail("cannot read %s: %s", path, image.message);
    }
    const int alpha = (image.format & PNG_FORMAT_FLAG_ALPHA) != 0;
    image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB; /* else 16 bits without a gamma are taken for linear light */
    image.format = alpha ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
    picture p = picture_create((int)image.width, (int)image.height, alpha ? 4 : 3);
    if (!png_image_finish_read(&image, NULL, p.pixels, 0, NULL)) {
        fail("cannot read %s: %s", path, image.message);
    }
    return p;
}

/* The file that becomes the one at path once it is whole. */
static const char *part_of(const char *path) {
    static char part[4096];
    if (snprintf(part, sizeof part, "%s.part", path) >= (int)sizeof part) {
        fail("the path %s is too long", path);
    }
    return part;
}

void picture_check_writable(const char *path) {
    struct stat info;
    if (stat(path, &info) == 0) {
        if (!S_ISREG(info.st_mode)) {
            fail("cannot write %s: it is there and no file", path);
        }
        if (access(path, W_OK) != 0) {
            fail("cannot write %s: %s", path, strerror(errno));
        }
    }
    FILE *file = fopen(part_of(path), "wb");
    if (file == NULL) {
        fail("cannot write %s: %s", path, strerror(errno));
    }
    fclose(file);
    remove(part_of(path));
}

void picture_write(const picture *p, const char *path) {
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)p->width,
                       .height = (png_uint_32)p->height,
                       .format = p->channels == 4 ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB};
    const char *part = part_of(path);
    if (!png_image_write_to_file(&image, part, 0, p->pixels, 0, NULL)) {
        remove(part);
        fail("cannot write %s: %s", path, image.message);
    }
    if (rename(part, path) != 0) {
        const int error = errno;
        remove(part);
        fail("cannot write %s: %s", path, strerror(error));
    }
}
