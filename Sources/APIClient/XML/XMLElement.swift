/// An element of an XML document with all that it contains: a value that can be built, changed, read and written.
///
/// ```swift
/// let cats = try XMLElement(parsing: data)
/// let names = cats.elements(named: "cat").map { $0["name"]?.text }
/// ```
///
/// Names are kept as they are written, with their prefix. Comments and processing instructions are not kept.
public struct XMLElement: Sendable, Hashable {
    /// A part of an element's content.
    public enum Node: Sendable, Hashable {
        /// An element.
        case element(XMLElement)
        /// Text, without any escaping.
        case text(String)
    }

    /// An attribute.
    public struct Attribute: Sendable, Hashable {
        /// The name, with its prefix.
        public var name: String
        /// The value, without any escaping.
        public var value: String

        /// Makes an attribute.
        ///
        /// - Parameters:
        ///   - name: The name, with its prefix.
        ///   - value: The value, without any escaping.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The name, with its prefix.
    public var name: String
    /// The attributes, in their order; namespace declarations are among them.
    public var attributes: [Attribute]
    /// The content, in its order.
    public var children: [Node]

    /// Makes an element.
    ///
    /// - Parameters:
    ///   - name: The name, with its prefix.
    ///   - attributes: The attributes, in their order.
    ///   - children: The content, in its order.
    public init(_ name: String, attributes: [Attribute] = [], children: [Node] = []) {
        self.name = name
        self.attributes = attributes
        self.children = children
    }

    /// Makes an element with text.
    ///
    /// - Parameters:
    ///   - name: The name, with its prefix.
    ///   - attributes: The attributes, in their order.
    ///   - text: The text, without any escaping.
    public init(_ name: String, attributes: [Attribute] = [], text: String) {
        self.init(name, attributes: attributes, children: [.text(text)])
    }

    /// The name without its prefix.
    public var localName: String { name.split(separator: ":", maxSplits: 1).last.map(String.init) ?? name }

    /// The elements within this one, without its text.
    public var elements: [XMLElement] {
        children.compactMap { node in
            if case .element(let element) = node { element } else { nil }
        }
    }

    /// The text of this element and of all elements within it, joined.
    public var text: String {
        children.map { node in
            switch node {
            case .element(let element): element.text
            case .text(let text): text
            }
        }.joined()
    }

    /// The elements within this one that have a name.
    ///
    /// - Parameter name: The name as it is written, with its prefix.
    /// - Returns: The elements, in their order.
    public func elements(named name: String) -> [XMLElement] { elements.filter { $0.name == name } }

    /// The first element within this one with a name, as it is written with its prefix; nil if there is none.
    public subscript(name: String) -> XMLElement? { elements.first { $0.name == name } }

    /// The element at a place among the elements within this one, which begins with 0; nil if there are fewer.
    public subscript(index: Int) -> XMLElement? {
        let elements = elements
        return elements.indices.contains(index) ? elements[index] : nil
    }

    /// The value of an attribute; nil if there is none.
    ///
    /// Setting nil removes the attribute.
    public subscript(attribute name: String) -> String? {
        get { attributes.first { $0.name == name }?.value }
        set {
            guard let newValue else { return attributes.removeAll { $0.name == name } }
            if let index = attributes.firstIndex(where: { $0.name == name }) {
                attributes[index].value = newValue
            } else {
                attributes.append(Attribute(name, newValue))
            }
        }
    }
}
