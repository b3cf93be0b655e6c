/^target (triple|datalayout) /d
s/ "(target-cpu|target-features|tune-cpu|frame-pointer|min-legal-vector-width|stack-protector-buffer-size)"="[^"]*"//g
