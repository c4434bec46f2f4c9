internal import Foundation

/// The grammar of hosts, behind ``CanonicalHost``.
enum HostName {
    /// The most characters of a name (RFC 1035, section 3.1).
    private static let longestName = 253
    /// The most characters of a label (RFC 1035, section 3.1).
    private static let longestLabel = 63
    /// The most bytes of a text that is read: more than a name's, for brackets, a trailing dot and every form of IPv6.
    private static let longestText = 512

    /// Why a text is not a host.
    enum Flaw: Error {
        case empty, percent, userInfo, port, notASCII, character, emptyLabel, longLabel, hyphen, long, number, address

        var explanation: String {
            switch self {
            case .empty: "it is empty"
            case .percent: "percent-encoding and zone identifiers are not accepted; write the characters themselves"
            case .userInfo: "it contains user information; remove it and the @"
            case .port: "only an IPv6 address may contain a colon; leave the port out"
            case .notASCII: "it contains characters beyond ASCII; write it in its xn-- form"
            case .character: "it contains characters other than letters, digits, hyphens, underscores and dots"
            case .emptyLabel: "it begins with a dot or contains two dots in a row"
            case .longLabel: "one of its labels has more than 63 characters"
            case .hyphen: "one of its labels begins or ends with a hyphen"
            case .long: "it has more than 253 characters"
            case .number: "a host that ends in a number must be an IPv4 address, four decimal numbers from 0 to 255"
            case .address: "it is not an IPv6 address"
            }
        }
    }

    /// Returns the text itself if it is a name in canonical form.
    ///
    /// Nearly every request takes this way: one pass, no allocation.
    static func alreadyCanonical(_ raw: String) -> String? {
        var raw = raw
        let isCanonical = raw.withUTF8 { bytes in
            (1...longestName).contains(bytes.count) && bytes.allSatisfy { isNameByte($0) } && labelFlaw(bytes) == nil
        }
        return isCanonical ? raw : nil
    }

    /// Reads a host in any accepted form.
    static func read(_ raw: String) -> Result<CanonicalHost, Flaw> {
        guard raw.utf8.count <= longestText else { return .failure(.long) }
        var bytes = [UInt8](raw.utf8)
        guard !bytes.isEmpty else { return .failure(.empty) }
        if let flaw = characterFlaw(bytes) { return .failure(flaw) }

        if bytes.first == UInt8(ascii: "[") {
            guard bytes.last == UInt8(ascii: "]") else { return .failure(.address) }
            return ipv6(bytes.dropFirst().dropLast())
        }
        if bytes.contains(UInt8(ascii: ":")) {
            let isPort = bytes.count(where: { $0 == UInt8(ascii: ":") }) == 1
            return isPort ? .failure(.port) : ipv6(bytes[...])
        }
        if bytes.last == UInt8(ascii: ".") { bytes.removeLast() }
        guard !bytes.isEmpty else { return .failure(.emptyLabel) }
        for index in bytes.indices where (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(bytes[index]) { bytes[index] |= 0x20 }
        guard bytes.allSatisfy(isNameByte) else { return .failure(.character) }
        guard bytes.count <= longestName else { return .failure(.long) }
        switch bytes.withUnsafeBufferPointer({ labelFlaw($0) }) {
        case nil: return .success(CanonicalHost(name: String(decoding: bytes, as: UTF8.self), kind: .name))
        case .number where isDottedQuad(bytes):
            return .success(CanonicalHost(name: String(decoding: bytes, as: UTF8.self), kind: .ipv4))
        case .some(let flaw): return .failure(flaw)
        }
    }

    private static func characterFlaw(_ bytes: [UInt8]) -> Flaw? {
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "%"): return .percent
            case UInt8(ascii: "@"): return .userInfo
            case 0x80...: return .notASCII
            case 0...0x20, 0x7F, UInt8(ascii: "\\"), UInt8(ascii: "/"): return .character
            default: continue
            }
        }
        return nil
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"),
            UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// The flaw in the labels of a text of name bytes; `number` even for a well-formed IPv4 address.
    private static func labelFlaw(_ bytes: UnsafeBufferPointer<UInt8>) -> Flaw? {
        var start = 0
        while true {
            var end = start
            while end < bytes.count, bytes[end] != UInt8(ascii: ".") { end += 1 }
            guard end > start else { return .emptyLabel }
            guard end - start <= longestLabel else { return .longLabel }
            guard bytes[start] != UInt8(ascii: "-"), bytes[end - 1] != UInt8(ascii: "-") else { return .hyphen }
            if end == bytes.count { return isNumber(bytes, start..<end) ? .number : nil }
            start = end + 1
        }
    }

    /// Whether inet_aton and the URL standard would read the label as a number: all digits, or 0x with any number of hex digits, even none.
    private static func isNumber(_ bytes: UnsafeBufferPointer<UInt8>, _ label: Range<Int>) -> Bool {
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        if label.allSatisfy({ digits.contains(bytes[$0]) }) { return true }
        guard label.count >= 2, bytes[label.lowerBound] == UInt8(ascii: "0"), bytes[label.lowerBound + 1] == UInt8(ascii: "x") else {
            return false
        }
        return label.dropFirst(2).allSatisfy {
            digits.contains(bytes[$0]) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(bytes[$0])
        }
    }

    private static func isDottedQuad(_ bytes: [UInt8]) -> Bool {
        let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count == 4
            && parts.allSatisfy { part in
                // Some parsers read a leading zero as octal, others ignore it.
                guard (1...3).contains(part.count), part.count == 1 || part.first != UInt8(ascii: "0") else { return false }
                return UInt8(String(decoding: part, as: UTF8.self)) != nil
            }
    }

    private static func ipv6(_ bytes: ArraySlice<UInt8>) -> Result<CanonicalHost, Flaw> {
        var address = in6_addr()
        guard inet_pton(AF_INET6, String(decoding: bytes, as: UTF8.self), &address) == 1 else { return .failure(.address) }
        let octets = withUnsafeBytes(of: &address) { [UInt8]($0) }
        if octets.prefix(10).allSatisfy({ $0 == 0 }), octets[10] == 0xFF, octets[11] == 0xFF {
            let quad = octets[12...].map(String.init).joined(separator: ".")
            return .success(CanonicalHost(name: quad, kind: .ipv4))
        }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_ntop(AF_INET6, &address, &text, socklen_t(text.count)) != nil else { return .failure(.address) }
        let name = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return .success(CanonicalHost(name: name, kind: .ipv6))
    }
}
