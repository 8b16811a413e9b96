//! A site: client, router, balancer and servers, each in its own namespace.
//!
//! Every server accepts packets for the services' address without responding to ARP or neighbour discovery for it. So
//! each forwarding method works without changes to servers. Tests of tunnels load a decapsulator themselves. No program
//! runs.

use std::ops::Deref;

use thiserror::Error;

use super::congestion_control::{DIRECT_RETURN, FORWARDING, HOST};
use super::namespace::{NamespaceError, NetworkNamespace};
use super::site_layout::{self, BalancerArms, HostAddresses, SiteLayout};
use super::tool::ToolError;
use super::veth::{ChecksumMode, VethEnd, VethError, XdpPassProgram, create_veth};

#[derive(Debug, Error)]
pub enum SiteError {
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    #[error(transparent)]
    Link(#[from] VethError),
    /// An address or a route could not be added.
    #[error("a host could not be given its addresses")]
    Tool(#[from] ToolError),
}

/// A host: its namespace and its addresses. Its link is `eth0`.
#[derive(Debug)]
pub struct SiteHost {
    pub namespace: NetworkNamespace,
    pub host: HostAddresses,
}

impl Deref for SiteHost {
    type Target = NetworkNamespace;

    fn deref(&self) -> &NetworkNamespace {
        &self.namespace
    }
}

/// The site; dropping it removes everything.
#[derive(Debug)]
pub struct TestSite {
    pub client: SiteHost,
    pub balancer: SiteHost,
    /// The servers: first those on the balancer's subnet, then the remote ones.
    pub servers: Vec<SiteHost>,
    /// The router. Links: `client`, `balancer`, `server0`, …; `lan` is the subnet of the balancer and the local
    /// servers.
    pub router: NetworkNamespace,
    layout: SiteLayout,
}

impl TestSite {
    pub fn open(layout: &SiteLayout) -> Result<TestSite, SiteError> {
        let router = host("router")?;
        router.write_sysctls(&FORWARDING)?;
        let site = TestSite {
            client: SiteHost { namespace: host("client")?, host: site_layout::CLIENT },
            balancer: SiteHost { namespace: host("balancer")?, host: site_layout::BALANCER },
            servers: servers(layout)?,
            router,
            layout: layout.clone(),
        };
        site.connect_lan()?;
        site.connect_remote_servers()?;
        site.set_up_balancer()?;
        site.load_pass()?;
        Ok(site)
    }

    pub fn layout(&self) -> &SiteLayout {
        &self.layout
    }

    /// The balancer's return addresses for `nat`.
    pub fn return_addresses(&self) -> Vec<HostAddresses> {
        (0..site_layout::RETURNS).map(site_layout::return_address).collect()
    }

    /// The balancer's links that receive packets.
    pub fn balancer_links(&self) -> &'static [&'static str] {
        match self.layout.arms {
            BalancerArms::One => &["eth0"],
            BalancerArms::Two => &["front", "eth0"],
        }
    }

    /// The router's link to a server.
    pub fn router_port(server: usize) -> String {
        format!("server{server}")
    }

    /// Sets a link of the router up or down, as if its cable were plugged in or out.
    pub fn set_carrier(&self, port: &str, plugged: bool) -> Result<(), SiteError> {
        let word = if plugged { "up" } else { "down" };
        self.router.ip(&format!("link set {port} {word}\n"))?;
        Ok(())
    }

    /// Limits the TCP segments that a server announces and accepts, for paths with a smaller MTU than its link.
    pub fn limit_segment_size(&self, server: &SiteHost, bytes: u32) -> Result<(), SiteError> {
        let HostAddresses { gateway_v4, gateway_v6, .. } = server.host;
        let tcp = self.layout.congestion.name();
        server.ip(&format!(
            "route change default via {gateway_v4} congctl {tcp} advmss {bytes}\n\
             route change ::/0 via {gateway_v6} congctl {tcp} advmss {}\n",
            bytes - 20
        ))?;
        Ok(())
    }

    /// Adds the services' addresses to a server, or removes them; servers of `nat` need none.
    pub fn assign_service_addresses(
        &self,
        server: &SiteHost,
        holds: bool,
    ) -> Result<(), SiteError> {
        let lines = site_layout::service_address_commands();
        let gone = || lines.replace("addr add", "addr del").replace(" nodad", "");
        server.ip(&if holds { lines.clone() } else { gone() })?;
        Ok(())
    }

    /// Attaches an XDP program that another application could have loaded on a host's `eth0`; it passes every packet.
    pub fn attach_foreign_program(&self, host: &NetworkNamespace) -> Result<(), SiteError> {
        Ok(XdpPassProgram::new()?.load(VethEnd { namespace: host, link: "eth0" })?)
    }

    fn connect_router(
        &self,
        node: &NetworkNamespace,
        link: &str,
        port: &str,
    ) -> Result<(), SiteError> {
        let end = VethEnd { namespace: node, link };
        let at_router = VethEnd { namespace: &self.router, link: port };
        Ok(create_veth(end, at_router, self.layout.mtu, self.layout.checksums)?)
    }

    fn connect_lan(&self) -> Result<(), SiteError> {
        let mtu = self.layout.mtu;
        self.router.ip(&format!(
            "link add lan mtu {mtu} type bridge forward_delay 0\nlink set lan up\n"
        ))?;
        self.router.ip(&site_layout::BALANCER.router_commands("lan"))?;
        let near = self.servers.iter().take(usize::from(self.layout.local_servers));
        let ports =
            near.enumerate().map(|(number, server)| (server, TestSite::router_port(number)));
        for (node, port) in ports.chain([(&self.balancer, "balancer".to_owned())]) {
            self.connect_router(node, "eth0", &port)?;
            self.router.ip(&format!("link set {port} master lan\n"))?;
            node.ip(&node.host.host_commands("eth0", self.layout.congestion))?;
        }
        Ok(())
    }

    fn connect_remote_servers(&self) -> Result<(), SiteError> {
        let far = self.servers.iter().enumerate().skip(usize::from(self.layout.local_servers));
        let ports = far.map(|(number, server)| (server, TestSite::router_port(number)));
        for (node, port) in ports.chain([(&self.client, "client".to_owned())]) {
            self.connect_router(node, "eth0", &port)?;
            self.router.ip(&node.host.router_commands(&port))?;
            node.ip(&node.host.host_commands("eth0", self.layout.congestion))?;
        }
        for server in &self.servers {
            server.write_sysctls(&DIRECT_RETURN)?;
            server.ip(&site_layout::service_address_commands())?;
        }
        Ok(())
    }

    fn set_up_balancer(&self) -> Result<(), SiteError> {
        let balancer = &self.balancer;
        balancer.write_sysctls(&FORWARDING)?;
        let returns = self.return_addresses();
        let lines = returns.iter().map(|HostAddresses { v4, v6, .. }| {
            // Deprecated, so that the host's own connections use another source address (RFC 6724 §5).
            format!(
                "addr add {v4}/24 dev eth0 preferred_lft 0\n\
                 addr add {v6}/64 dev eth0 nodad preferred_lft 0\n"
            )
        });
        balancer.ip(&(lines.collect::<String>() + &site_layout::service_address_commands()))?;
        let entrance = match self.layout.arms {
            BalancerArms::One => site_layout::BALANCER,
            BalancerArms::Two => {
                self.connect_router(balancer, "front", "front")?;
                self.router.ip(&site_layout::FRONT.router_commands("front"))?;
                let HostAddresses { v4, v6, .. } = site_layout::FRONT;
                let addresses =
                    format!("addr add {v4}/24 dev front\naddr add {v6}/64 dev front nodad\n");
                balancer.ip(&addresses)?;
                site_layout::FRONT
            }
        };
        self.router.ip(&site_layout::service_routes(&entrance))?;
        Ok(())
    }

    /// Loads a pass-all program at the router's end of each balancer cable: native XDP transmits only to an end with a
    /// program.
    fn load_pass(&self) -> Result<(), SiteError> {
        if self.layout.checksums == ChecksumMode::Offloaded {
            return Ok(());
        }
        let pass = XdpPassProgram::new()?;
        let mut ports = vec!["balancer"];
        if self.layout.arms == BalancerArms::Two {
            ports.push("front");
        }
        for port in ports {
            pass.load(VethEnd { namespace: &self.router, link: port })?;
        }
        Ok(())
    }
}

fn host(role: &str) -> Result<NetworkNamespace, NamespaceError> {
    let namespace = NetworkNamespace::new(role)?;
    namespace.write_sysctls(&HOST)?;
    Ok(namespace)
}

fn servers(layout: &SiteLayout) -> Result<Vec<SiteHost>, NamespaceError> {
    let near = (0..layout.local_servers).map(site_layout::local_server);
    let hosts = near.chain((0..layout.remote_servers).map(site_layout::remote_server)).enumerate();
    let nodes = hosts.map(|(number, host_plan)| {
        Ok(SiteHost { namespace: host(&format!("server{number}"))?, host: host_plan })
    });
    nodes.collect()
}
