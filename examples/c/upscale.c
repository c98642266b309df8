/*
 * upscale: makes a picture twice as large with ESRGAN-slim, on any backend.
 *
 *     upscale photo.png larger.png
 *
 * The picture goes through the network window by window, so the memory that the
 * network takes is the same for every picture. Windows overlap by as far as a pixel
 * can reach, so the result is that of the whole picture at once.
 */
#include <unistd.h>

#include "example.h"
#include "picture.h"
#include "upscale_model.h"

static const char usage[] =
    "usage: upscale [options] INPUT.png OUTPUT.png\n"
    "Writes the picture twice as large. Transparency is kept, enlarged smoothly.\n"
    "\n"
    "  --backend NAME  auto, cpu, cuda, vulkan, metal or reference\n"
    "  --model DIR     the folder of model.json, the model that the npm package\n"
    "                  @upscalerjs/esrgan-slim has for x2 (dist/esrgan/x2)\n"
    "  --tile N        pixels of a window's side, 32 to 4096 (128): more takes more\n"
    "                  memory and less time\n";

typedef struct {
    const char *backend, *model, *input, *output;
    int tile;
} options;

static options parse(char **argv) {
    options o = {.model = "dist/esrgan/x2", .tile = 128};
    for (int i = 1; argv[i] != NULL; i++) {
        const char *value;
        if (strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            exit(EXIT_SUCCESS);
        } else if ((value = option(argv, &i, "--backend")) != NULL) {
            o.backend = value;
        } else if ((value = option(argv, &i, "--model")) != NULL) {
            o.model = value;
        } else if ((value = option(argv, &i, "--tile")) != NULL) {
            o.tile = option_int("--tile", value, 32, 4096);
        } else if (argv[i][0] == '-' || o.output != NULL) {
            fail("%s is not understood\n%s", argv[i], usage);
        } else if (o.input == NULL) {
            o.input = argv[i];
        } else {
            o.output = argv[i];
        }
    }
    if (o.output == NULL) {
        fail("which picture, and where to?\n%s", usage);
    }
    return o;
}

static int min(int a, int b) { return a < b ? a : b; }

static int max(int a, int b) { return a > b ? a : b; }

/*
 * A stretch of one side of the picture, and the start of the window that makes it.
 * It ends where the pixels beyond the window begin to matter.
 */
typedef struct {
    int begin, end, window;
} stretch;

/* The stretch that begins where the last one ended, on a side with windows of a size. */
static stretch next_stretch(int begin, int side, int size) {
    const int window = max(0, min(begin - UPSCALE_REACH, side - size));
    const int end = window + size == side ? side : window + size - UPSCALE_REACH;
    return (stretch){begin, end, window};
}

/* Copies a window's colours into planes [3, height, width]. */
static void fill_window(const upscale_model *m, const picture *from, int left, int top, float *planes) {
    for (int channel = 0; channel < 3; channel++) {
        for (int y = top; y < top + m->height; y++) {
            for (int x = left; x < left + m->width; x++) {
                *planes++ = picture_at(from, x, y)[channel];
            }
        }
    }
}

static uint8_t to_byte(float value) { return value > 0 ? value < 255 ? (uint8_t)(value + 0.5f) : 255 : 0; }

/* Copies what the two stretches cover from a window's result. */
static void take_result(const upscale_model *m, const float *planes, stretch h, stretch v, picture *to) {
    const int f = UPSCALE_FACTOR, width = f * m->width, plane = width * f * m->height;
    for (int y = f * v.begin; y < f * v.end; y++) {
        for (int x = f * h.begin; x < f * h.end; x++) {
            const float *from = &planes[(y - f * v.window) * width + x - f * h.window];
            uint8_t *pixel = picture_at(to, x, y);
            for (int channel = 0; channel < 3; channel++) {
                pixel[channel] = to_byte(from[channel * plane]);
            }
        }
    }
}

/* Shows how much is done on stderr: in place on a terminal, else now and then. */
static void show_progress(double done) {
    static int shown = -1;
    const int terminal = isatty(STDERR_FILENO), step = terminal ? 1 : 20;
    const int percent = (int)(100 * done) / step * step;
    if (percent != shown) {
        fprintf(stderr, terminal ? "\r%3d %%" : "%d %%\n", percent);
        shown = percent;
        if (terminal && percent == 100) {
            fputc('\n', stderr);
        }
    }
}

static void upscale_colours(const upscale_model *m, const picture *from, picture *to) {
    const size_t window = 3 * (size_t)m->width * (size_t)m->height;
    float *in = allocate(window * sizeof *in);
    float *out = allocate(UPSCALE_FACTOR * UPSCALE_FACTOR * window * sizeof *out);
    show_progress(0);
    for (stretch v = {0}; v.end < from->height;) {
        v = next_stretch(v.end, from->height, m->height);
        for (stretch h = {0}; h.end < from->width;) {
            h = next_stretch(h.end, from->width, m->width);
            fill_window(m, from, h.window, v.window, in);
            upscale_window(m, in, out);
            take_result(m, out, h, v, to);
            const double pixels = (double)v.begin * from->width + (double)(v.end - v.begin) * h.end;
            show_progress(pixels / ((double)from->width * from->height));
        }
    }
    free(in);
    free(out);
}

/* The network knows nothing of alpha: bilinear, each pixel's centre a quarter of one away. */
static void upscale_alpha(const picture *from, picture *to) {
    for (int y = 0; y < to->height; y++) {
        const int near_y = y / 2, far_y = max(0, min(from->height - 1, near_y + (y % 2 == 0 ? -1 : 1)));
        for (int x = 0; x < to->width; x++) {
            const int near_x = x / 2, far_x = max(0, min(from->width - 1, near_x + (x % 2 == 0 ? -1 : 1)));
            const int sum = 9 * picture_at(from, near_x, near_y)[3] + 3 * picture_at(from, far_x, near_y)[3] +
                            3 * picture_at(from, near_x, far_y)[3] + picture_at(from, far_x, far_y)[3];
            picture_at(to, x, y)[3] = (uint8_t)((sum + 8) / 16);
        }
    }
}

int main(int argc, char **argv) {
    (void)argc;
    const options o = parse(argv);
    picture from = picture_read(o.input);
    picture to = picture_create(UPSCALE_FACTOR * from.width, UPSCALE_FACTOR * from.height, from.channels);
    picture_check_writable(o.output);

    char device[256];
    qtsa_backend backend = open_backend(o.backend, device, sizeof device);
    upscale_model model = upscale_open(backend, o.model, min(from.height, o.tile), min(from.width, o.tile));

    const double start = seconds();
    upscale_colours(&model, &from, &to);
    const double elapsed = seconds() - start;
    if (from.channels == 4) {
        upscale_alpha(&from, &to);
    }
    picture_write(&to, o.output);
    printf("%s, %.2f s, %s\n", device, elapsed, o.output);

    upscale_close(&model);
    CHECK(qtsa_backend_free(backend));
    free(from.pixels);
    free(to.pixels);
    return EXIT_SUCCESS;
}
