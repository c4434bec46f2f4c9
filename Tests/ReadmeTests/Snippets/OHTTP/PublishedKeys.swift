import OHTTP

func publishedKeys(of keyring: GatewayKeyring) -> [UInt8] {
    KeyConfigurationList(keyring.keys.prefix(1).map(\.configuration)).encoded()
}
