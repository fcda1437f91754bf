// A whole flow of golang.org/x/oauth2. Prints the address that a person has to open; reads where it led.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

func main() {
	if err := flow(os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5], os.Args[6]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	say("done", true)
}

func say(name string, value any) {
	line, _ := json.Marshal(map[string]any{name: value})
	fmt.Println(string(line))
}

func flow(origin, id, secret, callback, username, password string) error {
	ctx := context.Background()
	config := &oauth2.Config{
		ClientID: id, ClientSecret: secret, RedirectURL: callback, Scopes: []string{"read_user"},
		Endpoint: oauth2.Endpoint{AuthURL: origin + "/oauth/authorize", TokenURL: origin + "/oauth/token"},
	}
	verifier := oauth2.GenerateVerifier()
	say("open", config.AuthCodeURL("a state", oauth2.S256ChallengeOption(verifier)))
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		return err
	}
	back, err := url.Parse(strings.TrimSpace(line))
	if err != nil {
		return err
	}
	if back.Query().Get("state") != "a state" {
		return fmt.Errorf("another state: %s", back)
	}
	token, err := config.Exchange(ctx, back.Query().Get("code"), oauth2.VerifierOption(verifier))
	if err != nil {
		return err
	}
	old := token.RefreshToken
	token.Expiry = time.Now().Add(-time.Minute)
	source := config.TokenSource(ctx, token)
	next, err := source.Token()
	if err != nil {
		return err
	}
	if next.AccessToken == token.AccessToken || next.RefreshToken == old {
		return errors.New("the pair was not renewed")
	}
	answer, err := config.Client(ctx, next).Get(origin + "/api/v4/user")
	if err != nil {
		return err
	}
	var user struct{ Username string }
	if err := json.NewDecoder(answer.Body).Decode(&user); err != nil || answer.StatusCode != http.StatusOK || user.Username != username {
		return fmt.Errorf("not the user: %d %s %v", answer.StatusCode, user.Username, err)
	}
	_, err = config.TokenSource(ctx, &oauth2.Token{RefreshToken: old, Expiry: time.Now().Add(-time.Minute)}).Token()
	var refused *oauth2.RetrieveError
	if !errors.As(err, &refused) || refused.ErrorCode != "invalid_grant" {
		return fmt.Errorf("a used token was not refused: %v", err)
	}
	config.Scopes = []string{"api"}
	first, err := config.PasswordCredentialsToken(ctx, username, password)
	if err != nil {
		return err
	}
	if first.RefreshToken != "" {
		return errors.New("the password grant gave a refresh token")
	}
	return nil
}
