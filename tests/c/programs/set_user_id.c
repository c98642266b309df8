/*
 * A host that runs with other rights than its user's: what the environment names would
 * be loaded and written with those. usage: set_user_id PLUGINS
 *
 * The tester makes it set-user-id, and runs it as somebody else with every variable
 * pointing where a trap is.
 */
#include <unistd.h>

#include "model.h"

int main(int argc, char **argv) {
    static char report[65536];
    qtsa_backend_options o;
    qtsa_backend b;
    size_t n;
    CHECK(argc == 2);
    CHECK(geteuid() == 0 && getuid() != 0);
    o = qtsa_backend_options_init();
    o.plugin_dir = argv[1];
    OK(qtsa_backend_create(&o, &b)); /* not as the variables say, none of which is right */
    OK(qtsa_backend_report_copy(b, QTSA_FORMAT_TEXT, report, sizeof report, &n));
    CHECK(strstr(report, "requested: auto (default)") != NULL);
    OK(qtsa_devices_list(&o, NULL, 0, &n));
    OK(qtsa_backend_free(b));
    /* The folder in the environment has a library that tells when it is loaded. */
    if (qtsa_backend_create(NULL, &b) == QTSA_OK) OK(qtsa_backend_free(b));
    printf("ok\n");
    return 0;
}
