import CLibCurl
import Glibc

/// The header lines of one request, as libcurl reads them: a linked list.
///
/// An easy handle keeps its list for its next requests, so that a field takes no allocation. libcurl borrows the list from the call of
/// ``link()`` until the handle forgets its request. Used by the thread that holds the handle.
final class CurlHeaderList {
    private var text: UnsafeMutablePointer<CChar>
    private var textSize: Int
    private var nodes: UnsafeMutablePointer<curl_slist>
    private var nodeCount: Int
    /// Where each line begins in the text.
    private var starts: [Int] = []
    private var used = 0

    /// The most bytes of text that a list without lines keeps.
    static let keptSize = 16_384

    /// Makes a list with room for the text and the lines of most requests.
    init(textSize: Int = 2_048, lines: Int = 16) {
        text = .allocate(capacity: textSize)
        nodes = .allocate(capacity: lines)
        self.textSize = textSize
        nodeCount = lines
    }

    deinit {
        clear()
        text.deallocate()
        nodes.deallocate()
    }

    /// Adds a line byte for byte.
    ///
    /// - Parameters:
    ///   - name: The field's name.
    ///   - separator: What comes between name and value.
    ///   - value: The field's value.
    func add(_ name: String, _ separator: String, _ value: UnsafeBufferPointer<UInt8> = UnsafeBufferPointer(start: nil, count: 0)) {
        starts.append(used)
        var name = name
        var separator = separator
        name.withUTF8 { add($0) }
        separator.withUTF8 { add($0) }
        add(value)
        reserve(1)
        text[used] = 0
        used += 1
    }

    private func add(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let source = bytes.baseAddress, !bytes.isEmpty else { return }
        reserve(bytes.count)
        UnsafeMutableRawPointer(text + used).copyMemory(from: source, byteCount: bytes.count)
        used += bytes.count
    }

    private func reserve(_ count: Int) {
        guard textSize - used < count else { return }
        let size = max(2 * textSize, used + count)
        let larger = UnsafeMutablePointer<CChar>.allocate(capacity: size)
        larger.update(from: text, count: used)
        erase()
        text.deallocate()
        (text, textSize) = (larger, size)
    }

    /// Links the lines, which no longer change until ``clear()``.
    ///
    /// - Returns: The first line; nil if there is none.
    func link() -> UnsafeMutablePointer<curl_slist>? {
        guard !starts.isEmpty else { return nil }
        if nodeCount < starts.count {
            nodes.deallocate()
            nodeCount = 2 * starts.count
            nodes = .allocate(capacity: nodeCount)
        }
        for (index, start) in starts.enumerated() {
            let isLast = index + 1 == starts.count
            (nodes + index).initialize(to: curl_slist(data: text + start, next: isLast ? nil : nodes + index + 1))
        }
        return nodes
    }

    /// Removes all lines, and erases their text, which may contain secrets.
    ///
    /// libcurl must not have the list any more.
    func clear() {
        erase()
        used = 0
        starts.removeAll(keepingCapacity: true)
        guard textSize > Self.keptSize else { return }
        text.deallocate()
        textSize = Self.keptSize
        text = .allocate(capacity: textSize)
    }

    private func erase() {
        // The compiler may leave out a simple loop, because no code reads the zeros.
        if used > 0 { explicit_bzero(text, used) }
    }
}
