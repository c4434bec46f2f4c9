import HTTPTypes

/// The body of a response that libcurl receives.
///
/// Releasing it before the body's end cancels the transfer.
final class CurlBodySource: ResponseBodySource {
    private let transfer: CurlTransfer
    /// Retained, because the caller may have released it, and the session that holds it.
    private let transport: CurlTransport

    init(transfer: CurlTransfer, transport: CurlTransport) {
        self.transfer = transfer
        self.transport = transport
    }

    deinit {
        // A message to a transfer that is over does nothing.
        if !transfer.exchange.isOver { transport.mailbox.post(.cancel(transfer)) }
    }

    var trailers: HTTPFields { ResponseHeadParser.trailers(transfer.exchange.trailers) }

    func next() async throws -> [UInt8]? {
        // Local copies, because a cancellation may outlive the consumer.
        let (transfer, mailbox) = (transfer, transport.mailbox)
        // The whole of a small response is there when its head is. A cancelled task must end the transfer, even if there is more to read.
        if !Task.isCancelled {
            switch transfer.exchange.readNow() {
            case .part(let part, let mayGoOn):
                if mayGoOn { mailbox.post(.unpause(transfer)) }
                return part
            case .end(let result):
                try result.get()
                return nil
            case .wait: break
            }
        }
        return try await withTaskCancellationHandler {
            try await transfer.exchange.next { mailbox.post(.unpause(transfer)) }
        } onCancel: {
            mailbox.post(.cancel(transfer))
        }
    }
}
