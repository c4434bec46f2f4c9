import CLibCurl
import CertificatePinning
import HTTPTypes

/// All options of a request except its URL, its fields and its content.
///
/// Most requests of a program have the same shape, so their handles need not be set up again.
struct CurlRequestShape: Equatable {
    enum Content: Equatable {
        case none
        /// Copied into the handle.
        case small
        /// Read through the upload callbacks; -1: length unknown.
        case streamed(length: Int)
    }

    /// Content up to this many bytes is copied into the handle.
    static let smallLimit = 16_384
    /// The most bytes of a streamed body that libcurl asks for at once.
    private static let uploadBufferBytes = 65_536

    let isSecure: Bool
    /// False only for a rule that validates nothing (DisabledTrustEvaluator).
    let verifiesHost: Bool
    let method: HTTPRequest.Method
    let content: Content
    let connectMilliseconds: Int
    let proxy: ProxyConfiguration?
    let localAddress: CanonicalHost?
    /// The encodings to offer and decode; nil: none.
    let contentEncodings: String?

    init(_ request: borrowing TransportRequest, upload: CurlUpload, verifiesHost: Bool, library: CurlLibrary) {
        isSecure = request.url.isSecure
        self.verifiesHost = verifiesHost
        method = request.method
        content =
            switch upload.source {
            case .none: .none
            case .bytes(let bytes) where bytes.count <= Self.smallLimit && request.options.onUpload == nil: .small
            case .bytes, .file, .stream: .streamed(length: upload.length ?? -1)
            }
        connectMilliseconds = request.options.connectTimeout.wholeMilliseconds
        proxy = request.options.proxy
        localAddress = request.options.localAddress
        contentEncodings = upload.offersDecoding ? library.contentEncodings : nil
    }

    func apply(to easy: CurlEasyHandle) throws(TransportError) {
        try easy.set(CURLOPT_PROTOCOLS_STR, isSecure ? "https" : "http")
        try easy.set(CURLOPT_SSL_VERIFYHOST, verifiesHost ? 2 : 0)
        try easy.set(CURLOPT_CONNECTTIMEOUT_MS, connectMilliseconds)
        if let contentEncodings { try easy.set(CURLOPT_ACCEPT_ENCODING, contentEncodings) }
        if let localAddress { try setLocalAddress(localAddress, of: easy) }
        try setProxy(of: easy)
        try setContent(of: easy)
    }

    private func setLocalAddress(_ address: CanonicalHost, of easy: CurlEasyHandle) throws(TransportError) {
        // libcurl would look up a name, or take it for that of a network interface.
        guard address.kind != .name else { throw TransportError(.unsupported, "a local address must be an IPv4 or IPv6 address") }
        try easy.set(CURLOPT_INTERFACE, "host!\(address.name)")
    }

    private func setProxy(of easy: CurlEasyHandle) throws(TransportError) {
        guard let proxy else {
            // An empty string, not nil: nil lets libcurl read the environment.
            try easy.set(CURLOPT_PROXY, "")
            try easy.set(CURLOPT_NOPROXY, "*")
            return
        }
        guard (1...65_535).contains(proxy.port) else {
            throw TransportError(.unsupported, "a proxy's port must be a number from 1 to 65535")
        }
        let scheme =
            switch proxy.kind {
            case .http: "http"
            case .socks5: "socks5h"
            }
        try easy.set(CURLOPT_PROXY, "\(scheme)://\(proxy.host.urlText):\(proxy.port)")
        try easy.set(CURLOPT_NOPROXY, "")
    }

    private func setContent(of easy: CurlEasyHandle) throws(TransportError) {
        switch content {
        case .none where method == .get:
            try easy.set(CURLOPT_HTTPGET, 1)
            return
        case .none where method == .head:
            try easy.set(CURLOPT_NOBODY, 1)
            return
        case .none where RequestBody.givesContentMeaning(method):
            // Requests whose method gives content a meaning must say that there is none (RFC 9110, section 8.6).
            try easy.set(CURLOPT_POST, 1)
            try easy.setLarge(CURLOPT_POSTFIELDSIZE_LARGE, 0)
            try easy.set(CURLOPT_COPYPOSTFIELDS, "")
        case .none:
            break
        case .small where method == .head, .streamed where method == .head:
            // libcurl would wait for content in the response as well.
            throw TransportError(.unsupported, "a HEAD request has no content (RFC 9110, section 9.3.2); remove its body")
        case .small:
            try easy.set(CURLOPT_POST, 1)
        case .streamed(let length):
            try easy.set(CURLOPT_UPLOAD, 1)
            try easy.setLarge(CURLOPT_INFILESIZE_LARGE, length)
            try easy.set(CURLOPT_UPLOAD_BUFFERSIZE, Self.uploadBufferBytes)
            try easy.setUploadCallbacks()
        }
        try easy.set(CURLOPT_CUSTOMREQUEST, method.rawValue)
    }
}

extension Duration {
    /// Milliseconds for libcurl's timeouts: at least 1, because 0 means no timeout, and at most 2,000,000,000, which fits into 32 bits.
    var wholeMilliseconds: Int {
        let (seconds, attoseconds) = components
        guard seconds >= 0 else { return 1 }
        guard seconds < 2_000_000 else { return 2_000_000_000 }
        return max(1, Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000))
    }
}
