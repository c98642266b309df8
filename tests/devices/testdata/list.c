/*
 * Lists the devices, in every way and with every mistake, and prints the JSON.
 *
 * usage: list PLUGIN-DIR
 */
#include "../../c/programs/model.h"

int main(int argc, char **argv) {
    static char text[1 << 16], json[1 << 16];
    qtsa_backend_options o;
    qtsa_device d;
    size_t count = 7, again, n, i;
    int processors = 0;
    CHECK(argc == 2);

    REFUSED(QTSA_ERR_INVALID_STATE, qtsa_device_info(0, &d), "qtsa_device_count");
    CHECK(d.kind == 0 && d.apis[0] == 0);
    REFUSED(QTSA_ERR_INVALID_STATE, qtsa_device_report_copy(QTSA_FORMAT_TEXT, text, sizeof text, &n),
            "qtsa_device_count");
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_device_count(NULL, NULL), "out_count is null");

    OK(qtsa_backend_options_init(&o, sizeof o));
    o.plugin_dir = argv[1];
    o.probe = "perhaps";
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_device_count(&o, &count), "\"perhaps\"", "require, auto, off");
    CHECK(count == 0);
    o.probe = " Require ";
    OK(qtsa_device_count(&o, &count));
    CHECK(count >= 1);

    for (i = 0; i < count; i++) {
        memset(&d, 0xff, sizeof d);
        OK(qtsa_device_info(i, &d));
        CHECK(d.kind >= QTSA_DEVICE_CPU && d.kind <= QTSA_DEVICE_SOFTWARE);
        CHECK(d.name[0] != 0 && strlen(d.name) < sizeof d.name);
        CHECK(d.apis[0] != 0 && strlen(d.problem) < sizeof d.problem);
        CHECK(d.usable == 1 || d.problem[0] != 0);
        CHECK(d.memory_total > 0 && d.memory_free <= d.memory_total);
        if (d.kind == QTSA_DEVICE_CPU) {
            processors++;
            CHECK(strcmp(d.apis, "cpu:0") == 0);
            CHECK(d.pci[0] == 0 && d.uuid[0] == 0);
        }
    }
    CHECK(processors == 1);
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_device_info(count, &d), "were counted");
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_device_info((size_t)-1, &d), "were counted");
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_device_info(0, NULL), "out_device is null");

    OK(qtsa_device_count(&o, &again));
    CHECK(again == count);
    OK(qtsa_device_report_copy(QTSA_FORMAT_TEXT, text, sizeof text, &n));
    CHECK(n == strlen(text) + 1);
    CHECK(strstr(text, "DEVICE") != NULL && strstr(text, "cpu:0") != NULL);
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_device_report_copy(2, text, sizeof text, &n), "format is 2");
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_device_report_copy(QTSA_FORMAT_TEXT, text, 3, &n), "3 bytes");
    OK(qtsa_device_report_copy(QTSA_FORMAT_JSON, json, sizeof json, &n));
    printf("%s\n", json);
    return 0;
}
