//! What the user says about the translation, beside the objects.

use std::net::IpAddr;

/// The name of the controller in a GatewayClass, unless another one is chosen.
pub const CONTROLLER_NAME: &str = "steelyard.dev/gateway";

/// The name of the controller in an IngressClass, unless another one is chosen.
pub const INGRESS_CONTROLLER_NAME: &str = "steelyard.dev/ingress";

/// The directory of certificates in the configuration, unless another one is chosen.
pub const CERTIFICATE_DIRECTORY: &str = "/run/steelyard/gateway";

/// The first port on the loopback address that the configuration may use for branches of a split that lead nowhere.
pub const REFUSAL_PORT: u16 = 15_500;

#[derive(Clone, Debug)]
pub struct GatewaySettings {
    /// Gateways whose class names this controller are translated.
    pub controller_name: String,
    /// Ingresses whose class names this controller are translated.
    pub ingress_controller_name: String,
    /// Where Ingresses and Gateways without addresses listen; `None`: at every address.
    pub default_address: Option<IpAddr>,
    /// Where the configuration expects the certificates.
    pub certificate_directory: String,
    /// The first port that may be used for answers to shares of splits that lead nowhere.
    pub refusal_port: u16,
}

impl Default for GatewaySettings {
    fn default() -> GatewaySettings {
        GatewaySettings {
            controller_name: CONTROLLER_NAME.to_owned(),
            ingress_controller_name: INGRESS_CONTROLLER_NAME.to_owned(),
            default_address: None,
            certificate_directory: CERTIFICATE_DIRECTORY.to_owned(),
            refusal_port: REFUSAL_PORT,
        }
    }
}
