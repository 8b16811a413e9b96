/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* The least that a redirect costs: what a bundle's program is measured against. It chooses nothing. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("tc")
int plain(struct __sk_buff *skb __attribute__((unused)))
{
	return bpf_redirect(1, 0);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
