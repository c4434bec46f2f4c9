import CLibFuzzer
import Foundation
import OHTTP

@main
enum FuzzEncapsulatedRequests {
    static func main() {
        var count = CommandLine.argc
        var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
        exit(LLVMFuzzerRunDriver(&count, &arguments, fuzzEncapsulatedRequests))
    }
}

private struct Fixture: Sendable {
    let keyring: GatewayKeyring
    /// A request that the keyring opens, as one message and in chunks.
    let whole: [UInt8]
    let chunked: [UInt8]

    init() {
        do {
            let key = try GatewayKey(id: 1, kem: .x25519, privateKey: [UInt8](repeating: 7, count: 32), suites: [.aes128GCM])
            let other = try GatewayKey(id: 2, kem: .p256, privateKey: [UInt8](repeating: 7, count: 32), suites: [.chaCha20Poly1305])
            keyring = try GatewayKeyring([key, other])
            let sealed = try key.configuration.encapsulate([UInt8]("question".utf8))
            whole = [UInt8](sealed.message)
            let request = try key.configuration.chunkedRequest()
            var sealer = request.sealer
            chunked = try sealer.seal([UInt8]("ques".utf8)) + sealer.finish([UInt8]("tion".utf8))
        } catch {
            preconditionFailure("\(error)")
        }
    }
}

private let fixture = Fixture()

/// Passes the input to a gateway, either unchanged or as changes to a request that the gateway can open.
///
/// Only the unchanged request may be opened, and every error must be the same.
@_cdecl("LLVMFuzzerTestOneInput")
func fuzzEncapsulatedRequests(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = [UInt8](UnsafeBufferPointer(start: start, count: count))
    guard let selector = input.first else { return 0 }
    let rest = input.dropFirst()
    switch selector % 4 {
    case 0: openWhole([UInt8](rest))
    case 1: openChunked([UInt8](rest), step: Int(selector) / 4 + 1)
    case 2: openWhole(edit(fixture.whole, rest))
    default: openChunked(edit(fixture.chunked, rest), step: Int(selector) / 4 + 1)
    }
    return 0
}

/// Applies pairs of bytes: a position and a value to XOR.
///
/// A position past the end truncates or extends the message.
private func edit(_ message: [UInt8], _ changes: ArraySlice<UInt8>) -> [UInt8] {
    var message = message
    var rest = changes
    while let place = rest.popFirst(), let value = rest.popFirst() {
        if Int(place) < message.count {
            message[Int(place)] ^= value
        } else if value < 128 {
            message.removeLast(min(message.count, Int(value)))
        } else {
            message.append(value)
        }
    }
    return message
}

private func openWhole(_ message: [UInt8]) {
    do {
        let opened = try fixture.keyring.decapsulate(message)
        precondition(message == fixture.whole && opened.request == Data("question".utf8), "a changed request was opened")
        precondition(opened.encapsulatedKey == [UInt8](message[7..<39]))
        _ = try opened.response.seal([1])
    } catch {
        precondition("\(error)" == "\(refusal)", "another refusal: \(error)")
    }
}

private func openChunked(_ message: [UInt8], step: Int) {
    var opener = fixture.keyring.chunkedRequestOpener()
    var content = Data()
    var rest = message[...]
    do {
        while !rest.isEmpty {
            opener.append(rest.prefix(step))
            rest = rest.dropFirst(step)
            while let part = try opener.next() {
                precondition(!part.isEmpty)
                content += part
            }
        }
        content += try opener.finish()
        // The encoding of a chunk's length is not protected: another encoding of it may pass, but other content must not.
        precondition(content == Data("question".utf8), "a changed request was opened")
    } catch {
        precondition("\(error)" == "\(refusal)", "another refusal: \(error)")
        precondition("question".utf8.starts(with: content), "a changed chunk was opened")
    }
}

private let refusal = OHTTPError(.decapsulationFailed, "the request cannot be opened with a key of this gateway")
