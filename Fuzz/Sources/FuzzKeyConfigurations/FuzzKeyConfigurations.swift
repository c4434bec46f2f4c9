import CLibFuzzer
import Foundation
import OHTTP

@main
enum FuzzKeyConfigurations {
    static func main() {
        var count = CommandLine.argc
        var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
        exit(LLVMFuzzerRunDriver(&count, &arguments, fuzzKeyConfigurations))
    }
}

/// Parses the input as a list of key configurations and as a single one.
///
/// A parsed configuration must survive a round trip, and a request can be sealed to it.
@_cdecl("LLVMFuzzerTestOneInput")
func fuzzKeyConfigurations(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = Data(UnsafeBufferPointer(start: start, count: count))
    if let list = try? KeyConfigurationList(decoding: input) {
        precondition(list.configurations.isEmpty || (try? KeyConfigurationList(decoding: list.encoded())) == list, "the list changed")
        if let configuration = try? list.preferred() { check(configuration) }
    }
    if let configuration = try? KeyConfiguration(decoding: input) { check(configuration) }
    if let key = try? GatewayKey(serialized: input) {
        precondition((try? GatewayKey(serialized: key.serialized()))?.configuration == key.configuration, "the key changed")
    }
    return 0
}

private func check(_ configuration: KeyConfiguration) {
    precondition((try? KeyConfiguration(decoding: configuration.encoded())) == configuration, "the configuration changed")
    do {
        let sealed = try configuration.encapsulate([1, 2, 3])
        precondition(sealed.message.count > 7 + 32 + 3)
    } catch {
        preconditionFailure("a configuration was accepted that nothing can be sealed to: \(error)")
    }
}
