import Foundation
import HTTPTypes
import OHTTP

func download(
    _ arriving: some AsyncSequence<Data, any Error>, with response: consuming ChunkedResponseOpener,
    onEvent: (BinaryHTTPResponseParser.Event) throws -> Void
) async throws {
    var opener = response
    var parser = BinaryHTTPResponseParser()
    for try await bytes in arriving {
        opener.append(bytes)
        while let part = try opener.next() {
            try parser.append(part)
            while let event = try parser.next() { try onEvent(event) }
        }
    }
    try parser.append(opener.finish())
    parser.finish()
    while let event = try parser.next() { try onEvent(event) }
}
