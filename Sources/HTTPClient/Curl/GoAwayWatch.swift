import COpenSSL
import CLibCurl

/// Switches libcurl's verbose text on where a GOAWAY frame may be read, because libcurl reports GOAWAY nowhere else.
///
/// Formatting all of the text would cost a fifth of a request, nearly all of it for the lines before and while the request goes out. So
/// each transfer over HTTP/2 listens from the first TLS record that is read after its request was handed to the connection. That is early
/// enough: libcurl writes its line about a frame for the transfer in whose name it reads the connection, after OpenSSL has read the
/// record. A transfer whose request has not been handed over reads only connections that carry no request.
///
/// Used only by the thread that runs the loop. Must outlive the connections in which it is installed.
final class GoAwayWatch {
    /// The transfers whose request has been handed over in this round of the loop, and that do not listen yet.
    private var deaf: [CurlTransfer] = []

    /// Installs the watch in the SSL_CTX of a connection that libcurl is about to make.
    func install(in context: OpaquePointer) {
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MSG_CALLBACK_ARG, 0, Unmanaged.passUnretained(self).toOpaque())
        SSL_CTX_set_msg_callback(context) { isWritten, _, kind, _, _, _, watch in
            // OpenSSL reports the header of each record that it reads before it decrypts the record.
            guard isWritten == 0, kind == SSL3_RT_HEADER, let watch else { return }
            Unmanaged<GoAwayWatch>.fromOpaque(watch)._withUnsafeGuaranteedRef { $0.listen() }
        }
    }

    /// Adds a transfer whose request is about to be handed to a connection that speaks HTTP/2.
    func add(_ transfer: CurlTransfer) {
        deaf.append(transfer)
    }

    /// Makes the added transfers listen.
    func listen() {
        guard !deaf.isEmpty else { return }
        for transfer in deaf { transfer.easy.listen() }
        deaf.removeAll(keepingCapacity: true)
    }
}
