/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* The one program of an interface: calls the first tenant. It looks at no packet. */
#include "tenant.h"

SEC("xdp.frags")
int steelyard(struct xdp_md *ctx)
{
	return pass_on(ctx, 0);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
