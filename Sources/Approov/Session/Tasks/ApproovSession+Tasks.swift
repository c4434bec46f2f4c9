public import Foundation
public import FoundationNetworking
public import HTTPClient
import Synchronization

extension ApproovSession {
    /// The completion handler of a data or upload task, called once, on the `delegateQueue` of the wrapped session.
    ///
    /// Like those of a `URLSession`, the handlers of a session run one after another, unless its queue runs more at once. A handler is not
    /// called if the queue's operations are cancelled.
    ///
    /// After a wipe of the session (``wipe(_:)``), a handler that had not been called yet gets no response. The wipe does not wait for a
    /// handler that already runs on another thread. So hand the response to the actor that changes the user, and check there which user it
    /// belongs to; or use ``data(for:limit:onProgress:)``, which does so.
    public typealias DataHandler = @Sendable (Data?, URLResponse?, (any Error)?) -> Void

    /// The completion handler of a download task, called once, on the `delegateQueue` of the wrapped session.
    ///
    /// The task removes the file when the handler returns. ``DataHandler`` describes what a wipe of the session does, and when a handler is
    /// not called.
    public typealias DownloadHandler = @Sendable (URL?, URLResponse?, (any Error)?) -> Void

    /// Creates a task that performs a request and reads the whole response; call `resume()` to start it.
    ///
    /// - Parameters:
    ///   - request: The request, with its body in `httpBody` or `httpBodyStream`.
    ///   - completionHandler: Called with the response's body and head, or with the error.
    /// - Returns: The task, not started.
    public func dataTask(with request: URLRequest, completionHandler: @escaping DataHandler) -> ApproovTask {
        task(request, completionHandler) { session, observation in
            try await session.data(for: request, body: nil, observation: observation)
        }
    }

    /// Creates a task that performs a GET request and reads the whole response; call `resume()` to start it.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - completionHandler: Called with the response's body and head, or with the error.
    /// - Returns: The task, not started.
    public func dataTask(with url: URL, completionHandler: @escaping DataHandler) -> ApproovTask {
        dataTask(with: URLRequest(url: url), completionHandler: completionHandler)
    }

    /// Creates a task that performs a request with a body from memory; call `resume()` to start it.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - body: The body to send; nil to send the request's own body.
    ///   - completionHandler: Called with the response's body and head, or with the error.
    /// - Returns: The task, not started.
    public func uploadTask(with request: URLRequest, from body: Data?, completionHandler: @escaping DataHandler) -> ApproovTask {
        task(request, completionHandler) { session, observation in
            let body = body.map { RequestBody.bytes([UInt8]($0)) }
            return try await session.data(for: request, body: body, observation: observation)
        }
    }

    /// Creates a task that performs a request with the content of a file as its body; call `resume()` to start it.
    ///
    /// - Parameters:
    ///   - request: The request; its own body is ignored.
    ///   - file: The file URL of a regular file, which must not change while it is sent.
    ///   - completionHandler: Called with the response's body and head, or with the error.
    /// - Returns: The task, not started.
    public func uploadTask(with request: URLRequest, fromFile file: URL, completionHandler: @escaping DataHandler) -> ApproovTask {
        task(request, completionHandler) { session, observation in
            try await session.data(for: request, body: .file(path: Self.path(of: file)), observation: observation)
        }
    }

    /// Creates a task that performs a request with any kind of body, such as a stream; call `resume()` to start it.
    ///
    /// - Parameters:
    ///   - request: The request; its own body is ignored.
    ///   - body: The body to send.
    ///   - completionHandler: Called with the response's body and head, or with the error.
    /// - Returns: The task, not started.
    public func uploadTask(with request: URLRequest, body: RequestBody, completionHandler: @escaping DataHandler) -> ApproovTask {
        task(request, completionHandler) { session, observation in
            try await session.data(for: request, body: body, observation: observation)
        }
    }

    /// Creates a task that performs a request and writes the response's body to a file; call `resume()` to start it.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - completionHandler: Called with the file's URL and the response's head, or with the error.
    /// - Returns: The task, not started.
    public func downloadTask(with request: URLRequest, completionHandler: @escaping DownloadHandler) -> ApproovTask {
        fileTask(request, completionHandler) { session, observation in
            try await session.download(for: request, observation: observation, limit: nil)
        }
    }

    /// Creates a task that performs a GET request and writes the response's body to a file; call `resume()` to start it.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - completionHandler: Called with the file's URL and the response's head, or with the error.
    /// - Returns: The task, not started.
    public func downloadTask(with url: URL, completionHandler: @escaping DownloadHandler) -> ApproovTask {
        downloadTask(with: URLRequest(url: url), completionHandler: completionHandler)
    }

    private var life: SessionLife { performer.stations.life }

    private func newTaskIdentifier() -> Int { lastTaskIdentifier.add(1, ordering: .relaxed).newValue }

    /// Creates a task that leaves a file.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - completionHandler: Called with the file's URL and the response's head, or with the error.
    ///   - perform: Performs the request.
    /// - Returns: The task, not started.
    func fileTask(
        _ request: URLRequest, _ completionHandler: @escaping DownloadHandler,
        _ perform: @escaping @Sendable (ApproovSession, RequestObservation) async throws -> (URL, HTTPURLResponse)
    ) -> ApproovTask {
        let (report, control) = (TaskReport(), TransferControl())
        let observation = RequestObservation(
            onDownload: { value in report.change { $0.download = value } }, control: control, isStreamed: true,
            flight: flights?.begin(request), isAdmitted: life.isValid)
        return ApproovTask(
            identifier: newTaskIdentifier(), report: report, control: control, life: life, isAdmitted: observation.isAdmitted
        ) { [self] in
            let result: Result<(URL, HTTPURLResponse), any Error>
            do { result = .success(try await perform(self, observation)) } catch { result = .failure(error) }
            await complete(completionHandler, with: result, of: observation.flight) { try? FileManager.default.removeItem(at: $0) }
        } cancelled: { [self] in
            await complete(completionHandler, with: .failure(CancellationError()))
        }
    }

    /// Creates a task that reads the whole response.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - completionHandler: Called with the response's body and head, or with the error.
    ///   - perform: Performs the request.
    /// - Returns: The task, not started.
    func task(
        _ request: URLRequest, _ completionHandler: @escaping DataHandler,
        _ perform: @escaping @Sendable (ApproovSession, RequestObservation) async throws -> (Data, HTTPURLResponse)
    ) -> ApproovTask {
        let (report, control) = (TaskReport(), TransferControl())
        let observation = RequestObservation(
            onUpload: { value in report.change { $0.upload = value } },
            onDownload: { value in report.change { $0.download = value } }, control: control, flight: flights?.begin(request),
            isAdmitted: life.isValid)
        return ApproovTask(
            identifier: newTaskIdentifier(), report: report, control: control, life: life, isAdmitted: observation.isAdmitted
        ) { [self] in
            let result: Result<(Data, HTTPURLResponse), any Error>
            do { result = .success(try await perform(self, observation)) } catch { result = .failure(error) }
            await complete(completionHandler, with: result, of: observation.flight)
        } cancelled: { [self] in
            await complete(completionHandler, with: .failure(CancellationError()))
        }
    }

    /// Calls a completion handler on the delegate queue, and waits until it has returned.
    ///
    /// - Parameters:
    ///   - handler: The handler.
    ///   - result: What it gets.
    ///   - flight: The request, whose handler gets neither a response nor a refused one after a wipe.
    ///   - discard: Removes the content, at the end or before the handler if that does not get it.
    private func complete<Content: Sendable>(
        _ handler: @escaping @Sendable (Content?, URLResponse?, (any Error)?) -> Void,
        with result: Result<(Content, HTTPURLResponse), any Error>, of flight: RequestFlight? = nil,
        _ discard: @escaping @Sendable (Content) -> Void = { _ in }
    ) async {
        @Sendable func discarded() { if case .success(let (content, _)) = result { discard(content) } }
        await wrapped.onDelegateQueue {
            do {
                // As late as possible: the response must not reach the next user's code.
                try flight?.check()
                let (content, response) = try result.get()
                handler(content, response, nil)
                discarded()
            } catch {
                discarded()
                handler(nil, nil, error)
            }
        }
        // Again, for a handler that was not called.
        discarded()
    }
}
