"""A backend that checks Approov tokens with PyJWT: APPROOV_SECRET=… python3 backend.py api.pem api.key

With APPROOV_JWKS in place of APPROOV_SECRET it verifies the tokens of a host with a keyset, by the authority's public keys.
"""

import base64
import hashlib
import hmac
import os
import ssl
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt

HOST = os.environ.get("API_HOST", "api.localhost")  # the host that apps call, without a port: the audience of a token
PORT = int(os.environ.get("API_PORT", "9443"))

if "APPROOV_JWKS" in os.environ:
    # The authority may have its own root.
    context = ssl.create_default_context(cafile=os.environ.get("APPROOV_CA"))
    jwks = jwt.PyJWKClient(os.environ["APPROOV_JWKS"], ssl_context=context)
    ALGORITHMS = ["ES256", "RS256"]
else:
    jwks = None
    SECRET = base64.b64decode(os.environ["APPROOV_SECRET"])
    ALGORITHMS = ["HS256"]


def verify(token, binding):
    """Returns the claims of a token that is valid and bound to this value, or raises jwt.PyJWTError."""
    # The key decides on the algorithms, never the token.
    key = jwks.get_signing_key_from_jwt(token).key if jwks else SECRET
    claims = jwt.decode(token, key, algorithms=ALGORITHMS, audience=HOST, options={"require": ["exp"]})
    digest = hashlib.sha256(binding.strip(" \t").encode("latin-1")).digest()
    if not hmac.compare_digest(claims.get("pay", ""), base64.b64encode(digest).decode()):
        raise jwt.InvalidTokenError("bound to another value")
    return claims


class Shapes(BaseHTTPRequestHandler):
    timeout = 10  # seconds

    def do_GET(self):
        tokens = self.headers.get_all("Approov-Token", [])
        bindings = self.headers.get_all("Authorization", [])
        try:
            if len(tokens) != 1 or len(bindings) != 1:
                raise jwt.InvalidTokenError("there must be one token and one Authorization")
            claims = verify(tokens[0], bindings[0])
            self.answer(200, f"a shape for {claims.get('did', 'an unnamed device')}")
        except jwt.PyJWTError as error:
            # The log says why, never with the token; the caller learns nothing.
            self.log_message("token refused: %s: %r", type(error).__name__, str(error))
            self.answer(401, "")

    def answer(self, status, text):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


certificate, key = sys.argv[1:]
server = ThreadingHTTPServer(("127.0.0.1", PORT), Shapes)
tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.load_cert_chain(certificate, key)
server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
print(f"https://{HOST}:{server.server_port}", flush=True)
server.serve_forever()
