/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* What both ends of a connection announced; see abi.h for the language. */
#ifndef STEELYARD_ANNOUNCED_H
#define STEELYARD_ANNOUNCED_H

#include "words.h"

/// Value of `announced`: the largest segments that both ends of two records announced; 0: not known.
struct announced {
	__u16 client[2];
	__u16 server[2];
};

#endif
