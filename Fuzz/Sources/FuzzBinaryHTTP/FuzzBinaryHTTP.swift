import CLibFuzzer
import Foundation
import HTTPTypes
import OHTTP

@main
enum FuzzBinaryHTTP {
    static func main() {
        var count = CommandLine.argc
        var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
        exit(LLVMFuzzerRunDriver(&count, &arguments, fuzzBinaryHTTP))
    }
}

/// Parses the input as a Binary HTTP message, as a whole and in parts whose size its first byte determines.
///
/// Both must give the same result, and a parsed message must survive a round trip.
@_cdecl("LLVMFuzzerTestOneInput")
func fuzzBinaryHTTP(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = Data(UnsafeBufferPointer(start: start, count: count))
    guard let selector = input.first else { return 0 }
    let message = input.dropFirst()
    let limits = BinaryHTTPLimits(controlDataBytes: 256, fieldSectionBytes: 512, fieldCount: 8, informationalResponses: 2, bodyBytes: 512)
    checkRequest(message, Int(selector), limits)
    checkResponse(message, Int(selector), limits)
    return 0
}

private func checkRequest(_ message: Data, _ selector: Int, _ limits: BinaryHTTPLimits) {
    let whole = result { () throws(OHTTPError) in try BinaryHTTPRequest(decoding: message, limits: limits) }
    let inParts = result { () throws(OHTTPError) in
        var parser = BinaryHTTPRequestParser(limits: limits)
        var found: BinaryHTTPRequest?
        var isComplete = false
        func take(_ event: BinaryHTTPRequestParser.Event) {
            switch event {
            case .head(let head): found = BinaryHTTPRequest(head: head)
            case .body(let bytes): found?.body.append(bytes)
            case .trailers(let fields): found?.trailers = fields
            case .end: isComplete = true
            }
        }
        for part in split(message, selector) {
            try parser.append(part)
            while let event = try parser.next() { take(event) }
        }
        parser.finish()
        while let event = try parser.next() { take(event) }
        precondition(isComplete, "a parser that has all bytes ends or throws")
        return found
    }
    switch (whole, inParts) {
    case (.success(let whole), .success(let inParts)):
        precondition(whole == inParts, "whole and in parts are not the same")
        checkAgain(whole, limits)
    case (.failure(let whole), .failure(let inParts)): precondition(whole == inParts, "\(whole) whole, \(inParts) in parts")
    default: preconditionFailure("read whole or in parts, but not both")
    }
}

/// Checks that a parsed request survives a round trip.
///
/// The encoder leaves out fields about a connection.
private func checkAgain(_ request: BinaryHTTPRequest, _ limits: BinaryHTTPLimits) {
    var expected = request
    expected.head.headerFields = ConnectionFields.removed(from: request.head.headerFields)
    expected.trailers = ConnectionFields.removed(from: request.trailers)
    for framing in [BinaryHTTPFraming.knownLength, .indeterminateLength] {
        for padding in [BinaryHTTPPadding.none, .padme] {
            let again = result { () throws(OHTTPError) in
                try BinaryHTTPRequest(decoding: Data(try request.encoded(framing: framing, padding: padding)), limits: limits)
            }
            guard case .success(let again) = again else { preconditionFailure("what was written cannot be read: \(again)") }
            precondition(again == expected, "what was written is read as something else")
        }
    }
}

private func checkResponse(_ message: Data, _ selector: Int, _ limits: BinaryHTTPLimits) {
    let whole = result { () throws(OHTTPError) in try BinaryHTTPResponse(decoding: message, limits: limits) }
    let inParts = result { () throws(OHTTPError) in
        var parser = BinaryHTTPResponseParser(limits: limits)
        var informational: [HTTPResponse] = []
        var found: BinaryHTTPResponse?
        var isComplete = false
        func take(_ event: BinaryHTTPResponseParser.Event) {
            switch event {
            case .informational(let head): informational.append(head)
            case .head(let head): found = BinaryHTTPResponse(informational: informational, head: head)
            case .body(let bytes): found?.body.append(bytes)
            case .trailers(let fields): found?.trailers = fields
            case .end: isComplete = true
            }
        }
        for part in split(message, selector) {
            try parser.append(part)
            while let event = try parser.next() { take(event) }
        }
        parser.finish()
        while let event = try parser.next() { take(event) }
        precondition(isComplete, "a parser that has all bytes ends or throws")
        return found
    }
    switch (whole, inParts) {
    case (.success(let whole), .success(let inParts)):
        precondition(whole == inParts, "whole and in parts are not the same")
        checkAgain(whole, limits)
    case (.failure(let whole), .failure(let inParts)): precondition(whole == inParts, "\(whole) whole, \(inParts) in parts")
    default: preconditionFailure("read whole or in parts, but not both")
    }
}

/// Checks that a parsed response survives a round trip.
///
/// The encoder leaves out fields about a connection.
private func checkAgain(_ response: BinaryHTTPResponse, _ limits: BinaryHTTPLimits) {
    var expected = response
    expected.head.headerFields = ConnectionFields.removed(from: response.head.headerFields)
    expected.trailers = ConnectionFields.removed(from: response.trailers)
    for index in expected.informational.indices {
        expected.informational[index].headerFields = ConnectionFields.removed(from: response.informational[index].headerFields)
    }
    for framing in [BinaryHTTPFraming.knownLength, .indeterminateLength] {
        for padding in [BinaryHTTPPadding.none, .padme] {
            let again = result { () throws(OHTTPError) in
                try BinaryHTTPResponse(decoding: Data(try response.encoded(framing: framing, padding: padding)), limits: limits)
            }
            guard case .success(let again) = again else { preconditionFailure("what was written cannot be read: \(again)") }
            precondition(again == expected, "what was written is read as something else")
        }
    }
}

/// Parts of `selector % 17 + 1` bytes each.
private func split(_ message: Data, _ selector: Int) -> [Data] {
    let size = selector % 17 + 1
    return stride(from: message.startIndex, to: message.endIndex, by: size).map { message[$0..<min($0 + size, message.endIndex)] }
}

private func result<Success>(_ work: () throws(OHTTPError) -> Success) -> Result<Success, OHTTPError> {
    do { return .success(try work()) } catch { return .failure(error) }
}
