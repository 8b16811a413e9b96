/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* The dispatcher, the only XDP program of an interface: it calls the first tenant and reads no packet. */
#include "tenant.h"

SEC("xdp.frags")
int steelyard(struct xdp_md *ctx)
{
	return pass_on(ctx, 0);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
