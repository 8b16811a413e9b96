// SPDX-License-Identifier: (Apache-2.0 OR MIT)
/*
 * Passes every packet on. A virtual cable takes what a program on its other end transmits only where a program is
 * loaded here too. It looks at nothing.
 */

struct xdp_md;

enum { PASS = 2 }; /* XDP_PASS, linux/bpf.h */

__attribute__((section("xdp.frags"), used)) int pass(struct xdp_md *packet)
{
	(void)packet;
	return PASS;
}

__attribute__((section("license"), used)) char terms[] = "Dual MIT/GPL";
