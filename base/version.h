#ifndef BASE_VERSION_H
#define BASE_VERSION_H

/* Of the program: what `version` prints and banks note. */
#define WARPWRIGHT_VERSION "0.1"

#endif
