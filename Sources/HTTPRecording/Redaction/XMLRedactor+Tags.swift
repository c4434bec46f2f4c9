extension XMLRedactor {
    /// Copies a start tag, and redacts its attributes.
    mutating func startTag() throws(Malformed) {
        guard open.count < Self.maximumDepth, !(open.isEmpty && hasRoot) else { throw Malformed() }
        var index = position + 1
        let name = try name(at: &index)
        var attributes: [(name: ArraySlice<UInt8>, value: Range<Int>)] = []
        while true {
            let hasSpace = skipSpace(&index)
            guard index < input.count else { throw Malformed() }
            guard input[index] != UInt8(ascii: ">"), input[index] != UInt8(ascii: "/") else { break }
            guard hasSpace else { throw Malformed() }
            attributes.append(try attribute(at: &index))
        }
        let isEmpty = input[index] == UInt8(ascii: "/")
        if isEmpty { index += 1 }
        guard index < input.count, input[index] == UInt8(ascii: ">") else { throw Malformed() }

        let element = opened(name, attributes)
        for attribute in attributes where !XMLValues.declaresNamespace(attribute.name) {
            copy(to: attribute.value.lowerBound)
            let isOwn = names.contains(Texts.localName(attribute.name)) || SecretNames.isAnnounced(attribute.name, by: element.announcement)
            let secrecy: Secrecy = isOwn ? .own : element.isWithinSecret ? .inherited : .none
            if let value = values.replacement(for: input[attribute.value], secrecy, &secrets) {
                output += value
                position = attribute.value.upperBound
            }
        }
        copy(to: index + 1)
        hasRoot = true
        if !isEmpty { open.append(element) }
    }

    /// An element with its secrecy, which its name, its attributes and the element around it decide.
    private func opened(_ name: ArraySlice<UInt8>, _ attributes: [(name: ArraySlice<UInt8>, value: Range<Int>)]) -> Element {
        let inherited = open.last?.childSecrecy ?? .none
        // By the label before it, in the same element.
        let isAnnounced = SecretNames.isAnnounced(name, by: open.last?.announcement ?? .nothing)
        let isOwn = isAnnounced || names.contains(Texts.localName(name))
        let isWithinSecret = isOwn || inherited != .none
        // As in <param name="password" value="x"/>.
        let label =
            attributes.filter { SecretNames.isLabel($0.name) }.map { names.announcement(of: input[$0.value]) }
            .max() ?? .nothing
        // A label may announce the text of the only child, as in <value><string>x</string></value>. Deeper values may be anything.
        return Element(
            name: name, isWithinSecret: isWithinSecret, secrecy: isOwn || label != .nothing ? .own : inherited,
            childSecrecy: isAnnounced ? .own : isWithinSecret || label == .everything ? .inherited : .none,
            ownAnnouncement: label)
    }

    private func attribute(at index: inout Int) throws(Malformed) -> (name: ArraySlice<UInt8>, value: Range<Int>) {
        let name = try name(at: &index)
        _ = skipSpace(&index)
        guard index < input.count, input[index] == UInt8(ascii: "=") else { throw Malformed() }
        index += 1
        _ = skipSpace(&index)
        guard index < input.count, input[index] == UInt8(ascii: "\"") || input[index] == UInt8(ascii: "'") else { throw Malformed() }
        let (quote, begin) = (input[index], index + 1)
        guard let end = input[begin...].firstIndex(where: { $0 == quote || $0 == UInt8(ascii: "<") }), input[end] == quote else {
            throw Malformed()
        }
        index = end + 1
        return (name, begin..<end)
    }

    /// Copies an end tag.
    mutating func endTag() throws(Malformed) {
        var index = position + 2
        let name = try name(at: &index)
        _ = skipSpace(&index)
        guard index < input.count, input[index] == UInt8(ascii: ">"), let element = open.popLast(), element.name.elementsEqual(name) else {
            throw Malformed()
        }
        if SecretNames.isLabel(name), !open.isEmpty { open[open.count - 1].childAnnouncement = names.announcement(of: element.label[...]) }
        copy(to: index + 1)
    }

    /// The name of an element, an attribute or a target.
    func name(at index: inout Int) throws(Malformed) -> ArraySlice<UInt8> {
        let begin = index
        while index < input.count, !Texts.isBlank(input[index]), !"<>/='\"&?![]".utf8.contains(input[index]) { index += 1 }
        guard index > begin else { throw Malformed() }
        return input[begin..<index]
    }

    /// Whether there was white space.
    private func skipSpace(_ index: inout Int) -> Bool {
        let begin = index
        while index < input.count, Texts.isBlank(input[index]) { index += 1 }
        return index > begin
    }
}
