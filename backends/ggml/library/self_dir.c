#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "library.h"

static char self_dir[PATH_MAX];
static char self_real_dir[PATH_MAX];

static void cut_to_dir(char *path) {
    char *slash = strrchr(path, '/');
    if (slash == NULL) {
        path[0] = 0;
    } else if (slash == path) {
        path[1] = 0;
    } else {
        *slash = 0;
    }
}

/*
 * Runs when this code is loaded: the name that the loader knows may be relative to
 * the working directory of that moment, which the host may change afterwards.
 */
__attribute__((constructor)) static void find_self(void) {
    static const char anchor = 0;
    Dl_info info;
    if (dladdr(&anchor, &info) == 0 || info.dli_fname == NULL) return;
    if (realpath(info.dli_fname, self_real_dir) == NULL) {
        self_real_dir[0] = 0;
        return;
    }
    cut_to_dir(self_real_dir);

    // As given: the folder made absolute, the file's own link left alone.
    char folder[PATH_MAX];
    if (strlen(info.dli_fname) >= sizeof folder) return;
    strcpy(folder, info.dli_fname);
    if (strchr(folder, '/') == NULL) {
        strcpy(folder, ".");
    } else {
        cut_to_dir(folder);
    }
    if (realpath(folder, self_dir) == NULL) self_dir[0] = 0;
}

const char *shim_self_dir(void) { return self_dir; }
const char *shim_self_real_dir(void) { return self_real_dir; }
