import CLibCurl
import COpenSSL

/// Describes the process-wide libcurl, and checks that certificates can be pinned with it.
struct CurlLibrary: Sendable {
    /// The TLS backend as libcurl names it, "OpenSSL/3.0.20" for instance.
    let tlsBackend: String
    /// The version of the libcrypto that this process calls.
    let cryptoVersion: String
    /// The content encodings that libcurl can decode, as an `Accept-Encoding` value.
    let contentEncodings: String

    /// The linked libcurl, initialised at the first use.
    static let linked = CurlLibrary()

    private init() {
        // CLibCurlStart has initialised libcurl before main; this call only raises libcurl's counter.
        curl_global_init(Int(CURL_GLOBAL_DEFAULT))
        guard let info = clibcurl_version_info() else {
            self.init(tlsBackend: "", cryptoVersion: "", contentEncodings: "identity")
            return
        }
        var encodings: [String] = []
        if info.pointee.features & CURL_VERSION_LIBZ != 0 { encodings.append("gzip") }
        if info.pointee.features & CURL_VERSION_BROTLI != 0 { encodings.append("br") }
        if info.pointee.features & CURL_VERSION_ZSTD != 0 { encodings.append("zstd") }
        self.init(
            tlsBackend: info.pointee.ssl_version.map { String(cString: $0) } ?? "",
            cryptoVersion: OpenSSL_version(OPENSSL_VERSION_STRING).map { String(cString: $0) } ?? "",
            contentEncodings: encodings.isEmpty ? "identity" : encodings.joined(separator: ", "))
    }

    init(tlsBackend: String, cryptoVersion: String, contentEncodings: String = "gzip") {
        self.tlsBackend = tlsBackend
        self.cryptoVersion = cryptoVersion
        self.contentEncodings = contentEncodings
    }

    /// Refuses a libcurl in which the trust hook would not run, or would run in another OpenSSL than ours.
    ///
    /// - Throws: ``TransportError`` with code `unsupported` for such a libcurl.
    func requireTrustHook() throws(TransportError) {
        guard tlsBackend.hasPrefix("OpenSSL/") else {
            throw TransportError(
                .unsupported,
                "this libcurl uses \(tlsBackend.isEmpty ? "no TLS" : tlsBackend), with which certificates cannot be pinned; install the OpenSSL flavour (libcurl4-openssl-dev)"
            )
        }
        guard tlsBackend.dropFirst("OpenSSL/".count) == cryptoVersion[...] else {
            throw TransportError(
                .unsupported,
                "libcurl uses \(tlsBackend) but this program is linked with OpenSSL \(cryptoVersion); link both with the system's libssl")
        }
    }
}
