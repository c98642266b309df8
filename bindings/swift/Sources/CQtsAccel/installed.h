#include <qtsaccel.h>
