/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* What the datapath and user space share. The Rust side (`l4::abi`) is generated from the headers
 * in `abi/`, so they keep to a small language: `#define NAME number`, one `enum` member a line, one field a line,
 * `///` comments for documentation, no implicit padding. Addresses are 16 bytes; IPv4 is mapped (::ffff:a.b.c.d)
 * unless a field says otherwise. Times are ticks of 2^28 ns (0.268 s) of CLOCK_MONOTONIC. */
#ifndef STEELYARD_ABI_H
#define STEELYARD_ABI_H

#include "abi/words.h"
#include "abi/shapes.h"
#include "abi/announced.h"
#include "abi/counts.h"
#include "abi/flow_samples.h"

_Static_assert(sizeof(struct bucket) == 64, "a bucket is a cache line");
_Static_assert(sizeof(struct record) == 64, "a record is a cache line");
_Static_assert(sizeof(struct hand) == 64, "a hand is alone on its cache line");

#endif
