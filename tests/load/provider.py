"""A small OpenID Connect provider for the tests: everybody who asks is logged in as `account`."""

from __future__ import annotations

import json
import secrets
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlencode, urlsplit

CLIENT, SECRET = "trnn", "client-secret-of-the-test"


class Provider:
    """`account` is who logs in next; `honest=False` signs with a key that is not the published one."""

    def __init__(self) -> None:
        from joserfc.jwk import RSAKey

        self.account, self.honest = "ana@lab.example", True
        self.key, self.other = (RSAKey.generate_key(2048, {"kid": "k", "use": "sig", "alg": "RS256"}) for _ in range(2))
        self.codes: dict[str, str] = {}  # code -> nonce
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://localhost:{self.http.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.http.shutdown()
        self.http.server_close()

    def metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
        }

    def authorize(self, query: dict[str, list[str]]) -> str:
        code = secrets.token_hex(8)
        self.codes[code] = query.get("nonce", [""])[0]
        return f"{query['redirect_uri'][0]}?{urlencode({'code': code, 'state': query['state'][0]})}"

    def token(self, form: dict[str, list[str]]) -> dict[str, Any]:
        from joserfc import jwt

        now = int(time.time())
        claims = {
            "iss": self.url,
            "sub": self.account,
            "aud": CLIENT,
            "exp": now + 300,
            "iat": now,
            "nonce": self.codes.pop(form["code"][0]),
            "email": self.account,
            "name": self.account,
        }
        signed = jwt.encode({"alg": "RS256", "kid": "k"}, claims, self.key if self.honest else self.other)
        return {"access_token": secrets.token_hex(8), "token_type": "Bearer", "expires_in": 300, "id_token": signed}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                at = urlsplit(self.path)
                if at.path == "/authorize":
                    self.send_response(302)
                    self.send_header("Location", provider.authorize(parse_qs(at.query)))
                    self.end_headers()
                elif at.path == "/keys":
                    self._json({"keys": [provider.key.as_dict(private=False)]})
                else:
                    self._json(provider.metadata())

            def do_POST(self) -> None:
                self._json(provider.token(parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())))

            def _json(self, content: dict[str, Any]) -> None:
                body = json.dumps(content).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                return

        return Handler
