#ifndef QTSACCEL_ENVIRONMENT_H
#define QTSACCEL_ENVIRONMENT_H

/* See environment.go; null where there is nothing to be trusted. */
const char *environment_get(const char *name);
char **environment_all(void);

#endif
