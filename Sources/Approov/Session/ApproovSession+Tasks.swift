public import Foundation
public import FoundationNetworking
import HTTPClient
import Synchronization

extension ApproovSession {
    /// What a data or upload task ends with; called once, on any thread.
    public typealias DataHandler = @Sendable (Data?, URLResponse?, (any Error)?) -> Void

    /// What a download task ends with; called once, on any thread.
    ///
    /// The file is removed when it returns.
    public typealias DownloadHandler = @Sendable (URL?, URLResponse?, (any Error)?) -> Void

    /// A task that performs a request and reads the whole response; begins with `resume()`.
    public func dataTask(with request: URLRequest, completionHandler: @escaping DataHandler) -> ApproovTask {
        task(completionHandler) { session, observation in
            try await session.data(for: request, body: RequestBody(of: request), observation: observation)
        }
    }

    /// A task that gets a URL and reads the whole response; begins with `resume()`.
    public func dataTask(with url: URL, completionHandler: @escaping DataHandler) -> ApproovTask {
        dataTask(with: URLRequest(url: url), completionHandler: completionHandler)
    }

    /// A task that performs a request with a body from memory; begins with `resume()`.
    public func uploadTask(with request: URLRequest, from body: Data?, completionHandler: @escaping DataHandler) -> ApproovTask {
        task(completionHandler) { session, observation in
            let body = body.map { RequestBody.bytes([UInt8]($0)) } ?? RequestBody(of: request)
            return try await session.data(for: request, body: body, observation: observation)
        }
    }

    /// A task that performs a request with the content of a file as its body; begins with `resume()`.
    public func uploadTask(with request: URLRequest, fromFile file: URL, completionHandler: @escaping DataHandler) -> ApproovTask {
        task(completionHandler) { session, observation in
            guard file.isFileURL else { throw ApproovError(.bodyFailed, "a body is uploaded from a file: give a file URL") }
            return try await session.data(
                for: request, body: .file(path: file.path(percentEncoded: false)), observation: observation)
        }
    }

    /// A task that performs a request and writes the response's body to a file; begins with `resume()`.
    public func downloadTask(with request: URLRequest, completionHandler: @escaping DownloadHandler) -> ApproovTask {
        let progress = ApproovTask.Progress()
        return ApproovTask(progress: progress) { [self] in
            do {
                let (file, response) = try await download(for: request) { value in progress.download.withLock { $0 = value } }
                completionHandler(file, response, nil)
                try? FileManager.default.removeItem(at: file)
            } catch {
                completionHandler(nil, nil, error)
            }
        } cancelled: {
            completionHandler(nil, nil, CancellationError())
        }
    }

    /// A task that gets a URL and writes the response's body to a file; begins with `resume()`.
    public func downloadTask(with url: URL, completionHandler: @escaping DownloadHandler) -> ApproovTask {
        downloadTask(with: URLRequest(url: url), completionHandler: completionHandler)
    }

    private func task(
        _ completionHandler: @escaping DataHandler,
        _ perform: @escaping @Sendable (ApproovSession, RequestPerformer.Observation) async throws -> (Data, HTTPURLResponse)
    ) -> ApproovTask {
        let progress = ApproovTask.Progress()
        let observation = RequestPerformer.Observation(
            onUpload: { value in progress.upload.withLock { $0 = value } },
            onDownload: { value in progress.download.withLock { $0 = value } })
        return ApproovTask(progress: progress) { [self] in
            do {
                let (data, response) = try await perform(self, observation)
                completionHandler(data, response, nil)
            } catch {
                completionHandler(nil, nil, error)
            }
        } cancelled: {
            completionHandler(nil, nil, CancellationError())
        }
    }
}
