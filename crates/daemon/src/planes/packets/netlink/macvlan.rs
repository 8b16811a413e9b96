//! Links of their own at an interface, each with a link address that is not the interface's: made, set up and down, and
//! removed. It decides nothing.

use std::io;

use futures_util::stream::TryStreamExt;
use rtnetlink::packet_route::link::{
    AfSpecInet, AfSpecInet6, AfSpecUnspec, In6AddrGenMode, InetDevConf, LinkAttribute, MacVlanMode,
};
use rtnetlink::{LinkMacVlan, LinkUnspec};
use rustix::io::Errno;

use super::{ANSWER, KernelNetlink, ignore_errno, with_timeout};

/// `arp_ignore`: only answer for addresses of the link that received the query. Both the interface and its macvlan
/// receive each query.
const OF_THE_LINK: i32 = 1;
/// `arp_announce`: queries carry an address of the link that sends them, not that of the waiting packet.
const BEST: i32 = 2;
/// The way back may be another link, for it is the interface's.
const LOOSE: i32 = 2;

impl KernelNetlink {
    /// Creates a macvlan on an interface, initially down. Neither of the two then answers for the other's addresses.
    ///
    /// # Errors
    /// The kernel refuses; then there is none.
    pub async fn create_macvlan(&self, name: &str, below: u32, link: [u8; 6]) -> io::Result<()> {
        let seat = LinkMacVlan::new(name, below, MacVlanMode::Private).address(link.to_vec());
        with_timeout(self.handle.link().add(seat.build()).execute()).await?;
        let ready = self.configure_macvlan(name, below).await;
        if ready.is_err() {
            let found = self.handle.link().get().match_name(name.to_owned()).execute();
            if let Ok(found) = with_timeout(found.try_collect::<Vec<_>>()).await {
                for one in found {
                    // The first error is returned, not this one.
                    let _ = self.remove_link(one.header.index).await;
                }
            }
        }
        ready
    }

    async fn configure_macvlan(&self, name: &str, below: u32) -> io::Result<()> {
        let mut conf = InetDevConf::default();
        conf.arp_ignore = OF_THE_LINK;
        conf.rp_filter = LOOSE;
        self.configure(LinkUnspec::new_with_name(name), conf).await?;
        // Without a link-local address it sends nothing in the virtual router's name.
        let quiet = vec![AfSpecInet6::AddrGenMode(In6AddrGenMode::None)];
        let quiet = LinkAttribute::AfSpecUnspec(vec![AfSpecUnspec::Inet6(quiet)]);
        let quiet = LinkUnspec::new_with_name(name).append_extra_attribute(quiet);
        let asked = self.handle.link().set(quiet.build()).execute();
        ignore_errno(tokio::time::timeout(ANSWER, asked).await, Errno::AFNOSUPPORT)?;
        self.restrict_arp(below).await
    }

    /// Makes the interface answer for its own addresses only.
    async fn restrict_arp(&self, below: u32) -> io::Result<()> {
        let mut conf = InetDevConf::default();
        let had = self.read_ipv4_conf(below).await?;
        conf.arp_ignore = had.arp_ignore.max(OF_THE_LINK);
        conf.arp_announce = had.arp_announce.max(BEST);
        self.configure(LinkUnspec::new_with_index(below), conf).await
    }

    /// Has a link and the interface below answer for addresses as when it was made; `false`: they do.
    ///
    /// # Errors
    /// The kernel refuses.
    pub async fn restore_arp_settings(&self, seat: u32, below: u32) -> io::Result<bool> {
        let own = self.read_ipv4_conf(seat).await?;
        let under = self.read_ipv4_conf(below).await?;
        let own = own.arp_ignore == OF_THE_LINK && own.rp_filter == LOOSE;
        let under = under.arp_ignore >= OF_THE_LINK && under.arp_announce >= BEST;
        if !own {
            let mut conf = InetDevConf::default();
            conf.arp_ignore = OF_THE_LINK;
            conf.rp_filter = LOOSE;
            self.configure(LinkUnspec::new_with_index(seat), conf).await?;
        }
        if !under {
            self.restrict_arp(below).await?;
        }
        Ok(!own || !under)
    }

    /// How an interface behaves with IPv4.
    async fn read_ipv4_conf(&self, ifindex: u32) -> io::Result<InetDevConf> {
        let asked = self.handle.link().get().match_index(ifindex).execute();
        let found = with_timeout(asked.try_collect::<Vec<_>>()).await?;
        let families = found.into_iter().flat_map(|one| one.attributes).find_map(|one| match one {
            LinkAttribute::AfSpecUnspec(families) => Some(families),
            _ => None,
        });
        let conf = families.into_iter().flatten().find_map(|family| match family {
            AfSpecUnspec::Inet(of) => of.into_iter().find_map(|one| match one {
                AfSpecInet::DevConf(conf) => Some(conf),
                _ => None,
            }),
            _ => None,
        });
        Ok(conf.unwrap_or_default())
    }

    /// Settings that are zero stay as they are.
    async fn configure(
        &self,
        link: rtnetlink::LinkMessageBuilder<LinkUnspec>,
        conf: InetDevConf,
    ) -> io::Result<()> {
        let conf = AfSpecUnspec::Inet(vec![AfSpecInet::DevConfRequest(conf)]);
        let link = link.append_extra_attribute(LinkAttribute::AfSpecUnspec(vec![conf]));
        with_timeout(self.handle.link().set(link.build()).execute()).await
    }

    /// Has a link run, or not.
    ///
    /// # Errors
    /// The kernel refuses.
    pub async fn set_link_state(&self, ifindex: u32, up: bool) -> io::Result<()> {
        let link = LinkUnspec::new_with_index(ifindex);
        let link = if up { link.up() } else { link.down() };
        with_timeout(self.handle.link().set(link.build()).execute()).await
    }

    /// Removes a link; no error if it does not exist.
    ///
    /// # Errors
    /// The kernel refuses.
    pub async fn remove_link(&self, ifindex: u32) -> io::Result<()> {
        let asked = self.handle.link().del(ifindex).execute();
        ignore_errno(tokio::time::timeout(ANSWER, asked).await, Errno::NODEV)
    }
}
